import { computed, reactive, watch } from "vue";
import { useRoute, useRouter, type LocationQueryRaw } from "vue-router";
import { useSession } from "@/session";
import { useLoad } from "./useLoad";

/** A page of a list: by number (with `total`), or by cursor (with `next`, absent at the end). */
export interface ListPage<T> {
  list: T[];
  total?: number;
  next?: string;
}

/** What a list asks for: its filters and where it stands. */
export type ListQuery<F> = F & { page?: number; after?: string; limit: number };

/**
 * A list whose filters, place and page size live in the address, so that it can be shared and the back button works.
 *
 * `filters` are the filters with their values when nothing is said (strings; "" is left out of the call). `load` fetches a page.
 * `refresh()` fetches the same page again without losing the place. By cursor unless `numbered`.
 */
export function useList<T, F extends Record<string, string>>(options: {
  filters: F;
  load: (query: ListQuery<Partial<F>>, signal: AbortSignal) => Promise<ListPage<T>>;
  numbered?: boolean;
  limit?: number;
}) {
  const route = useRoute();
  const router = useRouter();
  const session = useSession();
  const names = Object.keys(options.filters);
  const path = route.path;
  const first = (name: string) => {
    const value = route.query[name];
    return (Array.isArray(value) ? value[0] : value) ?? undefined;
  };
  const read = () => Object.fromEntries(names.map((n) => [n, first(n) ?? options.filters[n]])) as F;

  /** The filters as they stand in the form; `apply()` puts them into the address. */
  const filters = reactive({ ...read() }) as F;
  const limit = computed(() => Number(first("limit")) || options.limit || 20);
  const page = computed(() => Number(first("page")) || 1);
  const after = computed(() => first("after") ?? "");

  const loaded = useLoad<ListPage<T>>((signal) => {
    const said = Object.fromEntries(Object.entries(read()).filter(([, v]) => v !== "")) as Partial<F>;
    const place = options.numbered ? { page: page.value } : after.value ? { after: after.value } : {};
    return options.load({ ...said, ...place, limit: limit.value }, signal);
  });

  watch(
    () => [route.path === path ? JSON.stringify(route.query) : undefined, session.merchantId] as const,
    ([now], [before]) => {
      if (now === undefined) return;
      Object.assign(filters, read());
      if (now !== before || loaded.data.value) void loaded.reload();
    },
  );

  function go(place: LocationQueryRaw) {
    const said = Object.fromEntries(names.filter((n) => filters[n] !== options.filters[n]).map((n) => [n, filters[n]]));
    const kept = Object.fromEntries(Object.entries(route.query).filter(([n]) => !names.includes(n) && !["page", "after"].includes(n)));
    void router.push({ path, query: { ...kept, ...said, ...place } });
  }

  return {
    filters,
    rows: computed(() => loaded.data.value?.list ?? []),
    total: computed(() => loaded.data.value?.total),
    next: computed(() => loaded.data.value?.next),
    page,
    limit,
    after,
    numbered: options.numbered ?? false,
    loaded: computed(() => loaded.data.value !== undefined),
    loading: loaded.loading,
    error: loaded.error,
    filtered: computed(() => names.some((n) => (first(n) ?? options.filters[n]) !== options.filters[n])),
    /** Puts the filters into the address and starts at the first page. */
    apply: () => go({}),
    reset: () => {
      Object.assign(filters, options.filters);
      go({});
    },
    goTo: (n: number) => go(n > 1 ? { page: String(n) } : {}),
    goNext: () => loaded.data.value?.next && go({ after: loaded.data.value.next }),
    goFirst: () => go({}),
    refresh: loaded.reload,
  };
}

/** A list as useList returns it, for the components that show it. */
export type List = Omit<ReturnType<typeof useList<unknown, Record<string, string>>>, "filters" | "rows">;

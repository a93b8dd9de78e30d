import { computed, reactive, ref, watch } from "vue";
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
 * `filters` are the filters with their values when nothing is said (strings; "" is left out of the call). `readable` says of a filter
 * that is written freely whether it means anything; one that does not is never applied. `load` fetches a page. `refresh()` fetches the
 * same page again without losing the place. By cursor unless `numbered`.
 */
export function useList<T, F extends Record<string, string>>(options: {
  filters: F;
  readable?: Partial<Record<keyof F & string, (text: string) => boolean>>;
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
  const readable = (name: string, text: string) => text === "" || (options.readable?.[name]?.(text) ?? true);
  /** A filter as the address has it; what cannot be read there counts as not said. */
  const applied = (name: string) => {
    const text = first(name);
    return (text !== undefined && readable(name, text) ? text : options.filters[name]) ?? "";
  };
  const read = () => Object.fromEntries(names.map((n) => [n, applied(n)])) as F;

  /** The filters as they stand in the form; `apply()` puts them into the address. */
  const filters = reactive({ ...read() }) as F;
  /** What the list shows is narrowed to: the filters as they were applied, without those that say nothing. */
  const said = computed(() => Object.fromEntries(Object.entries(read()).filter(([, v]) => v !== "")) as Partial<F>);
  const refused = ref(false);
  /** The filters in the form that cannot be read, once somebody tried to apply them. */
  const wrong = computed(() => (refused.value ? names.filter((n) => !readable(n, filters[n] ?? "")) : []));
  const limit = computed(() => Number(first("limit")) || options.limit || 20);
  const page = computed(() => Number(first("page")) || 1);
  const after = computed(() => first("after") ?? "");

  const loaded = useLoad<ListPage<T>>((signal) => {
    const place = options.numbered ? { page: page.value } : after.value ? { after: after.value } : {};
    return options.load({ ...said.value, ...place, limit: limit.value }, signal);
  });

  watch(
    () => [route.path === path ? JSON.stringify(route.query) : undefined, session.merchantId] as const,
    ([now], [before]) => {
      if (now === undefined) return;
      Object.assign(filters, read());
      if (now !== before || loaded.data.value) void loaded.reload();
    },
  );

  /** Puts filters and a place into the address: those of the form, or, to go on in the list as it is, those that were applied. */
  function go(place: LocationQueryRaw, by = read()) {
    const changed = Object.fromEntries(names.filter((n) => by[n] !== options.filters[n]).map((n) => [n, by[n]]));
    const kept = Object.fromEntries(Object.entries(route.query).filter(([n]) => !names.includes(n) && !["page", "after"].includes(n)));
    void router.push({ path, query: { ...kept, ...changed, ...place } });
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
    filtered: computed(() => names.some((n) => applied(n) !== options.filters[n])),
    said,
    wrong,
    /** Puts the filters into the address and starts at the first page; refuses while one of them is wrong. */
    apply: () => {
      refused.value = true;
      if (wrong.value.length > 0) return;
      refused.value = false;
      go({}, filters);
    },
    reset: () => {
      Object.assign(filters, options.filters);
      go({}, filters);
    },
    goTo: (n: number) => go(n > 1 ? { page: String(n) } : {}),
    goNext: () => loaded.data.value?.next && go({ after: loaded.data.value.next }),
    goFirst: () => go({}),
    refresh: loaded.reload,
  };
}

/** A list as useList returns it, for the components that show it. */
export type List = Omit<ReturnType<typeof useList<unknown, Record<string, string>>>, "filters" | "rows">;

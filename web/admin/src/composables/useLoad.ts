import { onScopeDispose, ref, shallowRef, watch, type WatchSource } from "vue";
import { asApiError, type ApiError } from "@/api/error";

/**
 * Loads one thing, again whenever a source changes. `reload()` keeps what is shown until the new answer is there, so that nothing
 * jumps; an answer that was overtaken is dropped.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, sources: WatchSource[] = []) {
  const data = shallowRef<T>();
  const error = shallowRef<ApiError>();
  const loading = ref(false);
  let running: AbortController | undefined;

  async function reload(): Promise<void> {
    running?.abort();
    const mine = (running = new AbortController());
    loading.value = true;
    try {
      const got = await load(mine.signal);
      if (running !== mine) return;
      data.value = got;
      error.value = undefined;
    } catch (thrown) {
      if (running !== mine || mine.signal.aborted) return;
      error.value = asApiError(thrown);
    } finally {
      if (running === mine) loading.value = false;
    }
  }

  if (sources.length > 0) {
    watch(sources, () => {
      data.value = undefined;
      void reload();
    });
  }
  onScopeDispose(() => running?.abort());
  void reload();
  return { data, error, loading, reload };
}

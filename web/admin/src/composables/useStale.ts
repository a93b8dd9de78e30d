import { ref, shallowRef } from "vue";

/**
 * What to do where somebody else saved a thing first, with a StaleDialog: `run(send, { stale: ask(again) })` fetches the thing anew and
 * opens the dialog; `keepMine()` then does `again` on what is there now, and nothing else that the page could do. `verb` says what
 * that is where it saves no form, such as to delete.
 */
export function useStale<T extends object>(fetched: () => Promise<T>) {
  const open = ref(false);
  const theirs = shallowRef<T>();
  const verb = ref<string>();
  let pending: (now: T) => unknown = () => {};

  function ask(again: (now: T) => unknown, named?: string): () => Promise<void> {
    return async () => {
      theirs.value = await fetched();
      pending = again;
      verb.value = named;
      open.value = true;
    };
  }

  async function keepMine(): Promise<void> {
    if (theirs.value) await pending(theirs.value);
  }

  return { open, theirs, verb, ask, keepMine };
}

import { onBeforeUnmount, onMounted } from "vue";
import { onBeforeRouteLeave, onBeforeRouteUpdate } from "vue-router";
import { t } from "@/i18n";
import { useSession } from "@/session";
import { confirmed } from "./useAction";

/** What the page that is open says of its changes. */
const open = new Set<() => boolean>();

const asks = () => confirmed({ title: t("common.leave"), text: t("common.unsaved"), verb: t("common.leave"), danger: true });

/**
 * Guards unsaved changes: leaving the page, or going to another thing on the same page, asks first while `dirty()` says so. Where the
 * session has ended nothing is asked: the page is gone already.
 */
export function useUnsaved(dirty: () => boolean): void {
  const guard = (e: BeforeUnloadEvent) => {
    if (dirty()) e.preventDefault();
  };
  onMounted(() => {
    window.addEventListener("beforeunload", guard);
    open.add(dirty);
  });
  onBeforeUnmount(() => {
    window.removeEventListener("beforeunload", guard);
    open.delete(dirty);
  });
  const may = () => !useSession().token || !dirty() || asks();
  onBeforeRouteLeave(may);
  onBeforeRouteUpdate((to, from) => to.path === from.path || may());
}

/** Asks before what leaves the page without going elsewhere, such as logging out; answers whether it may go on. */
export async function mayLeave(): Promise<boolean> {
  return ![...open].some((dirty) => dirty()) || asks();
}

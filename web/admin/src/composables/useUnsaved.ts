import { onBeforeUnmount, onMounted } from "vue";
import { onBeforeRouteLeave } from "vue-router";
import { t } from "@/i18n";
import { confirmed } from "./useAction";

/** Guards unsaved changes: leaving the page asks first while `dirty()` says so. */
export function useUnsaved(dirty: () => boolean): void {
  const guard = (e: BeforeUnloadEvent) => {
    if (dirty()) e.preventDefault();
  };
  onMounted(() => window.addEventListener("beforeunload", guard));
  onBeforeUnmount(() => window.removeEventListener("beforeunload", guard));
  onBeforeRouteLeave(async () => {
    if (!dirty()) return true;
    return confirmed({ title: t("common.leave"), text: t("common.unsaved"), verb: t("common.leave"), danger: true });
  });
}

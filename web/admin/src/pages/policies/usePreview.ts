import { onScopeDispose, watch, type WatchSource } from "vue";
import { api, call } from "@/api/client";
import type { components } from "@/api/schema";
import { useLoad } from "@/composables/useLoad";
import type { Preview } from "./policy";

export type PreviewBody = components["schemas"]["AdminPolicyPreviewBody"];

/** Asks what a draft would do, a moment after the last change of it; nothing while `body` says nothing. */
export function usePreview(body: () => PreviewBody | undefined, sources: WatchSource[]) {
  const loaded = useLoad<Preview | undefined>(async (signal) => {
    const asked = body();
    return asked && (await call(api.POST("/api/admin/v1/timeout-policies/preview", { body: asked, signal })));
  });
  let timer = 0;
  watch(sources, () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void loaded.reload(), 300);
  });
  onScopeDispose(() => window.clearTimeout(timer));
  return loaded;
}

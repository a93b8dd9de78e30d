// The carriers that parcels may be given to.
import { computed } from "vue";
import { api, call } from "@/api/client";
import { useLoad } from "@/composables/useLoad";
import { language } from "@/i18n";

export function useCarriers() {
  const all = useLoad((signal) => call(api.GET("/api/admin/v1/carriers", { signal })), [language]);
  const carriers = computed(() => all.data.value?.list ?? []);
  return { carriers, nameOf: (code: string) => carriers.value.find((c) => c.code === code)?.name ?? code };
}

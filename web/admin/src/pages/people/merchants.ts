import { ref } from "vue";
import { api, call } from "@/api/client";
import { t } from "@/i18n";
import { useSession } from "@/session";

/** Names of merchants for the platform's lists; merchants' own admins see no other. */
export function useMerchantNames() {
  const session = useSession();
  const merchants = ref<{ id: number; name: string }[]>([]);
  if (session.self?.platform && session.can("merchant:read")) {
    void call(api.GET("/api/admin/v1/merchants", { params: { query: { limit: 100 } } })).then(
      (got) => (merchants.value = got.list ?? []),
      () => {}, // then ids are shown
    );
  }
  const nameOf = (id?: number) => (id ? (merchants.value.find((m) => m.id === id)?.name ?? `#${id}`) : t("people.platform"));
  return { merchants, nameOf };
}

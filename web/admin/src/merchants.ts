// The merchants that an admin of the platform may act for, and their names; nobody else sees any but their own.
import { defineStore } from "pinia";
import { shallowRef } from "vue";
import { api, call } from "@/api/client";
import type { components } from "@/api/schema";
import { t } from "@/i18n";
import { useSession } from "@/session";

type Merchant = components["schemas"]["AdminMerchant"];

/** As many as a page may hold. */
const limit = 100;

export const useMerchants = defineStore("merchants", () => {
  /** All of them by id. */
  const list = shallowRef<Merchant[]>([]);

  /** Reads them anew; where that fails, those that were read stay, and ids are shown for names. */
  async function load(): Promise<void> {
    const session = useSession();
    if (!session.self?.platform || !session.can("merchant:read")) return;
    const all: Merchant[] = [];
    try {
      for (let page = 1, total = 1; (page - 1) * limit < total; page++) {
        const got = await call(api.GET("/api/admin/v1/merchants", { params: { query: { page, limit } } }));
        all.push(...got.list);
        total = got.total;
      }
      list.value = all;
    } catch {
      // Names are an addition: the page that is open says what is wrong, if anything is.
    }
  }

  const nameOf = (id?: number): string => (id ? (list.value.find((m) => m.id === id)?.name ?? `#${id}`) : t("people.platform"));

  return { list, load, nameOf };
});

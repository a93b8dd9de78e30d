// Who is logged in, and for which merchant they act. The token is kept in the browser until it ends.
import { defineStore } from "pinia";
import { computed, ref } from "vue";
import type { components } from "@/api/schema";

export type Self = components["schemas"]["AdminSelf"];

const key = "tidemall.session";

interface Kept {
  token: string;
  merchantId?: number;
}

function kept(): Kept {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (typeof value === "object" && value !== null && "token" in value) return value as Kept;
  } catch {
    // What cannot be read counts as no session.
  }
  return { token: "" };
}

export const useSession = defineStore("session", () => {
  const start = kept();
  const token = ref(start.token);
  /** The merchant that an admin of the platform has chosen to act for; 0 leaves it to the server (the first one). */
  const merchantId = ref(start.merchantId ?? 0);
  const self = ref<Self>();
  const endedByServer = ref(false);

  function keep() {
    if (!token.value) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify({ token: token.value, merchantId: merchantId.value || undefined }));
  }

  function begin(newToken: string, admin: Self) {
    if (self.value?.id !== admin.id) merchantId.value = 0;
    token.value = newToken;
    self.value = admin;
    endedByServer.value = false;
    keep();
  }

  function end() {
    token.value = "";
    self.value = undefined;
    merchantId.value = 0;
    keep();
  }

  function expired() {
    end();
    endedByServer.value = true;
  }

  function actFor(id: number) {
    merchantId.value = id;
    keep();
  }

  const permissions = computed(() => new Set<string>(self.value?.permissions ?? []));

  /** Whether the admin's role allows it. The server checks again; the panel only hides. */
  function can(permission: string | undefined): boolean {
    return !permission || permissions.value.has(permission);
  }

  return { token, merchantId, self, endedByServer, begin, end, expired, actFor, can };
});

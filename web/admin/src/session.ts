// Who is logged in, and for which merchant they act. The token is kept in the browser until it ends.
import { defineStore } from "pinia";
import { computed, ref } from "vue";
import type { components } from "@/api/schema";

export type Self = components["schemas"]["AdminSelf"];

const key = "tidemall.session";

/** What the browser keeps, for all its tabs. */
interface Kept {
  token: string;
  /** Whose it is: another tab may have logged somebody else in. */
  admin?: number;
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
  /** The merchant that an admin of the platform has chosen to act for; 0 is all of them, and the first one where only one can be meant. */
  const merchantId = ref(start.merchantId ?? 0);
  const self = ref<Self>();
  const endedByServer = ref(false);

  function keep() {
    const shop = merchantId.value || undefined;
    localStorage.setItem(key, JSON.stringify({ token: token.value, admin: self.value?.id, merchantId: shop } satisfies Kept));
  }

  function begin(newToken: string, admin: Self) {
    if (self.value?.id !== admin.id) merchantId.value = 0;
    token.value = newToken;
    self.value = admin;
    endedByServer.value = false;
    keep();
  }

  function end() {
    // Another tab may have kept a later token meanwhile, which is not this one's to forget.
    if (kept().token === token.value) localStorage.removeItem(key);
    token.value = "";
    self.value = undefined;
    merchantId.value = 0;
  }

  /** Takes over what another tab kept: somebody logged in or out there, or changed the password. */
  function follow() {
    const now = kept();
    if (now.token === token.value) return;
    if (!now.token || now.admin !== self.value?.id) {
      self.value = undefined;
      merchantId.value = now.merchantId ?? 0;
    }
    token.value = now.token;
    endedByServer.value = false;
  }

  /** The server knows the token `used` no more: the session ends, unless it has another one by now. */
  function expired(used: string) {
    follow();
    if (token.value !== used) return;
    end();
    endedByServer.value = true;
  }

  function actFor(id: number) {
    merchantId.value = id;
    if (kept().token === token.value) keep();
  }

  const permissions = computed(() => new Set<string>(self.value?.permissions ?? []));

  /** Whether the admin's role allows it. The server checks again; the panel only hides. */
  function can(permission: string | undefined): boolean {
    return !permission || permissions.value.has(permission);
  }

  return { token, merchantId, self, endedByServer, begin, end, follow, expired, actFor, can };
});

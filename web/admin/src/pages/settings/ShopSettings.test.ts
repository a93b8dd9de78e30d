import { shallowMount } from "@vue/test-utils";
import { createPinia, setActivePinia } from "pinia";
import { expect, it, vi } from "vitest";
import { createMemoryHistory, createRouter, RouterView } from "vue-router";
import { defineComponent, h } from "vue";
import { confirmed } from "@/composables/useAction";
import { i18n } from "@/i18n";
import { useSession, type Self } from "@/session";
import ShopSettings from "./ShopSettings.vue";

vi.mock("@/composables/useAction", async (original) => ({ ...(await original<object>()), confirmed: vi.fn() }));
vi.mock("@/api/client", () => ({ api: { GET: vi.fn() }, call: () => new Promise(() => {}) }));

it("is left without a question before anything was read", async () => {
  setActivePinia(createPinia());
  useSession().begin("token", { id: 1 } as Self);
  const Elsewhere = defineComponent(() => () => h("p"));
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [
      { path: "/", component: Elsewhere },
      { path: "/shop-settings", component: ShopSettings },
    ],
  });
  await router.push("/shop-settings");
  shallowMount(RouterView, { global: { plugins: [router, i18n], stubs: { RouterView: false, ShopSettings: false } } });
  await router.push("/");
  expect(router.currentRoute.value.path).toBe("/");
  expect(confirmed).not.toHaveBeenCalled();
});

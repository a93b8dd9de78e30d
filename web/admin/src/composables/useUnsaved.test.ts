import { mount } from "@vue/test-utils";
import { createPinia, setActivePinia } from "pinia";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { defineComponent, h, ref } from "vue";
import { createMemoryHistory, createRouter, RouterView } from "vue-router";
import { useSession, type Self } from "@/session";
import { confirmed } from "./useAction";
import { mayLeave, useUnsaved } from "./useUnsaved";

vi.mock("./useAction", () => ({ confirmed: vi.fn() }));
const answer = vi.mocked(confirmed);

const dirty = ref(false);
const Page = defineComponent(() => {
  useUnsaved(() => dirty.value);
  return () => h("p");
});

async function opened() {
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [
      { path: "/orders/:no", component: Page },
      { path: "/login", component: { render: () => h("p") } },
    ],
  });
  await router.push("/orders/1");
  const page = mount(RouterView, { global: { plugins: [router] } });
  return { router, page, at: () => router.currentRoute.value.fullPath };
}

beforeEach(() => {
  setActivePinia(createPinia());
  useSession().begin("token", { id: 1 } as Self);
  dirty.value = true;
  answer.mockReset().mockResolvedValue(false);
});

describe("what is unsaved", () => {
  it("keeps the page open, also against another thing on the same page", async () => {
    const { router, page, at } = await opened();
    await router.push("/login");
    await router.push("/orders/2");
    expect(at()).toBe("/orders/1");
    expect(answer).toHaveBeenCalledTimes(2);
    await router.push("/orders/1?tab=parcels");
    expect(at()).toBe("/orders/1?tab=parcels");
    answer.mockResolvedValue(true);
    await router.push("/orders/2");
    expect(at()).toBe("/orders/2");
    page.unmount();
  });

  it("keeps nobody whose session has ended", async () => {
    const { router, page, at } = await opened();
    useSession().end();
    await router.push("/login");
    expect(at()).toBe("/login");
    expect(answer).not.toHaveBeenCalled();
    page.unmount();
  });

  it("is asked about before what leaves the page otherwise", async () => {
    const { page } = await opened();
    expect(await mayLeave()).toBe(false);
    answer.mockResolvedValue(true);
    expect(await mayLeave()).toBe(true);
    answer.mockClear();
    dirty.value = false;
    expect(await mayLeave()).toBe(true);
    dirty.value = true;
    page.unmount();
    expect(await mayLeave()).toBe(true);
    expect(answer).not.toHaveBeenCalled();
  });
});

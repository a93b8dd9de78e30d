import { flushPromises, mount } from "@vue/test-utils";
import { createPinia } from "pinia";
import { expect, test } from "vitest";
import { createMemoryHistory, createRouter } from "vue-router";
import { useList } from "./useList";

/** A list at an address, with what its load was asked for. */
async function listAt(address: string) {
  const calls: object[] = [];
  let list!: ReturnType<typeof useList<never, { q: string; min: string }>>;
  const page = {
    setup() {
      list = useList<never, { q: string; min: string }>({
        filters: { q: "", min: "" },
        readable: { min: (text) => /^\d+$/.test(text) },
        load: (query) => {
          calls.push(query);
          return Promise.resolve({ list: [], next: "on" });
        },
      });
      return () => null;
    },
  };
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: "/list", component: page }] });
  await router.push(address);
  mount({ template: "<router-view />" }, { global: { plugins: [createPinia(), router] } });
  await flushPromises();
  return { list, calls, router };
}

test("what stands in the form is not said before it is applied, also when the list goes on", async () => {
  const { list, calls, router } = await listAt("/list?q=a");
  list.filters.q = "b";
  expect(list.said.value).toEqual({ q: "a" });
  list.goNext();
  await flushPromises();
  expect(router.currentRoute.value.query).toEqual({ q: "a", after: "on" });
  list.filters.q = "b";
  list.apply();
  await flushPromises();
  expect(list.said.value).toEqual({ q: "b" });
  expect(calls).toEqual([
    { q: "a", limit: 20 },
    { q: "a", after: "on", limit: 20 },
    { q: "b", limit: 20 },
  ]);
});

test("what cannot be read is wrong once somebody applies it, and nothing is asked for", async () => {
  const { list, calls, router } = await listAt("/list?q=a");
  list.filters.min = "100元";
  expect(list.wrong.value).toEqual([]);
  list.apply();
  await flushPromises();
  expect(list.wrong.value).toEqual(["min"]);
  expect(router.currentRoute.value.query).toEqual({ q: "a" });
  expect(calls).toHaveLength(1);
  list.filters.min = "100";
  expect(list.wrong.value).toEqual([]);
  list.apply();
  await flushPromises();
  expect(calls.at(-1)).toEqual({ q: "a", min: "100", limit: 20 });
});

test("what cannot be read in the address narrows nothing, and the list does not claim it", async () => {
  const { list, calls } = await listAt("/list?min=100%E5%85%83");
  expect(calls).toEqual([{ limit: 20 }]);
  expect(list.filtered.value).toBe(false);
  expect(list.filters.min).toBe("");
});

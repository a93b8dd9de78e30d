import { mount } from "@vue/test-utils";
import { ElTable } from "element-plus";
import { expect, test } from "vitest";
import { h, nextTick } from "vue";
import { i18n } from "@/i18n";
import ListTable from "./ListTable.vue";

test("with more rows than are done at a time, that is said and the batch is told", async () => {
  const rows = [{ id: 1 }, { id: 2 }];
  const list = mount(ListTable<{ id: number }>, {
    props: { name: "test", rows, rowKey: "id", most: 1 },
    slots: { batch: ({ tooMany }: { tooMany: boolean }) => h("button", { class: "do", disabled: tooMany }) },
    global: { plugins: [i18n] },
  });
  const select = async (some: typeof rows) => {
    list.getComponent(ElTable).vm.$emit("selection-change", some);
    await nextTick();
  };
  await select(rows.slice(0, 1));
  expect(list.get(".do").attributes("disabled")).toBeUndefined();
  await select(rows);
  expect(list.get(".do").attributes("disabled")).toBeDefined();
  expect(list.text()).toContain("一次最多 1 项");
});

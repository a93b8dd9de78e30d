import { expect, test } from "vitest";
import { staleFields } from "./stale";

const rule = {
  name: "新疆",
  kind: "weight",
  regions: [],
  first_units: 1000,
  first_fen: 1800,
  step_units: 500,
  step_fen: 250,
  free_over_fen: 9900,
  sort: 1,
};

test("a rule that two people changed is compared in the form's words", () => {
  const shown = staleFields("weight").map((f) => [f.label, f.show?.(rule[f.key]) ?? String(rule[f.key])]);
  expect(shown).toEqual([
    ["名称", "新疆"],
    ["计费方式", "按重量"],
    ["配送地区", "其余所有地区"],
    ["首重（克）", "1000"],
    ["首费（元）", "18.00"],
    ["续重（克）", "500"],
    ["续费（元）", "2.50"],
    ["满额包邮", "¥99.00"],
    ["优先级", "1"],
  ]);
});

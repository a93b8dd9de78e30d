import { describe, expect, it } from "vitest";
import { areas } from "./regions";
import { freightOf } from "./price";

describe("freightOf", () => {
  const rule = { first_units: 1000, first_fen: 800, step_units: 500, step_fen: 200 };
  it.each([
    [1, 800],
    [1000, 800],
    [1001, 1000],
    [1500, 1000],
    [2000, 1200],
  ])("%i g", (grams, fen) => expect(freightOf(rule, grams)).toBe(fen));
  it("has no further steps where there are none", () => expect(freightOf({ ...rule, step_units: 0, step_fen: 0 }, 9000)).toBe(800));
});

describe("regions", () => {
  const names = areas.flatMap((a) => a.provinces.flatMap((p) => [p.name, ...p.cities]));
  it("has every province once", () => expect(areas.flatMap((a) => a.provinces)).toHaveLength(34));
  it("has no name twice", () => expect(new Set(names).size).toBe(names.length));
});

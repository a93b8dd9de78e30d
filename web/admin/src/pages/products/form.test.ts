import { describe, expect, it } from "vitest";
import {
  arrange,
  combinations,
  draftOf,
  dropped,
  emptyForm,
  formOf,
  overTheirs,
  priceRange,
  specsOf,
  uid,
  valid,
  type Form,
  type ProductData,
} from "./form";
import { cellsOf, fillDown, paste } from "./grid";

const option = (name: string, ...values: string[]) => ({ uid: uid(), name, values: values.map((text) => ({ uid: uid(), text })) });

function tee(): ProductData {
  return {
    id: 1,
    version: 3,
    category_id: 2,
    name: "T恤",
    images: [],
    options: [
      { name: "颜色", values: ["白", "黑"] },
      { name: "尺码", values: ["M", "L"] },
    ],
    skus: [
      { id: 11, specs: { 颜色: "白", 尺码: "M" }, price_fen: 5900, stock: 3, weight_g: 200 },
      { id: 12, specs: { 颜色: "白", 尺码: "L" }, price_fen: 6900, stock: 4, weight_g: 0 },
      { id: 13, specs: { 颜色: "黑", 尺码: "M" }, price_fen: 5900, stock: 0, weight_g: 0 },
    ],
    virtual: false,
    sort: 0,
  };
}

const texts = (form: Form) => form.rows.map((r) => Object.values(specsOf(form, r)).join(" "));

describe("the matrix", () => {
  it("has every combination, the last option changing first", () => {
    expect(combinations([option("a", "1", "2", "3"), option("b", "x", "y")])).toHaveLength(6);
    const form = emptyForm();
    form.options = [option("颜色", "白", "黑"), option("尺码", "S", "M", "L")];
    arrange(form);
    expect(texts(form)).toEqual(["白 S", "白 M", "白 L", "黑 S", "黑 M", "黑 L"]);
  });

  it("shows combinations without a SKU unticked and sends only the others, with their ids and without their stock", () => {
    const form = formOf(tee());
    expect(form.rows.map((r) => [r.id, r.sold])).toEqual([
      [11, true],
      [12, true],
      [13, true],
      [undefined, false],
    ]);
    expect(draftOf(form).skus[0]).toEqual({ id: 11, specs: { 颜色: "白", 尺码: "M" }, price_fen: 5900, weight_g: 200 });
    expect(priceRange(form)).toEqual({ from: 5900, to: 6900 });
  });

  it("keeps SKUs whose values are renamed", () => {
    const form = formOf(tee());
    form.options[0]!.values[0]!.text = "米白";
    arrange(form);
    expect(draftOf(form).skus.map((k) => [k.id, k.specs.颜色])).toEqual([
      [11, "米白"],
      [12, "米白"],
      [13, "黑"],
    ]);
  });

  it("says which SKUs go, and takes them back as they were", () => {
    const form = formOf(tee());
    const white = form.options[0]!.values.shift()!;
    arrange(form);
    expect(dropped(form, tee()).map((k) => k.id)).toEqual([11, 12]);
    form.options[0]!.values.unshift(white);
    arrange(form);
    expect(dropped(form, tee())).toEqual([]);
    expect(form.rows[0]!.price).toBe("59.00");
  });

  it("gives the SKUs to the first value of a further option, and their prices to the others", () => {
    const form = formOf(tee());
    form.options.push(option("版型", "修身", "宽松"));
    arrange(form);
    expect(form.rows.slice(0, 4).map((r) => [r.id, r.price])).toEqual([
      [11, "59.00"],
      [undefined, "59.00"],
      [12, "69.00"],
      [undefined, "69.00"],
    ]);
    form.options.pop();
    arrange(form);
    expect(form.rows.map((r) => r.id)).toEqual([11, 12, 13, undefined]);
  });

  it("knows what can be sent", () => {
    expect(["1", "0.01", "¥1,234.50"].every((v) => valid("price", v))).toBe(true);
    expect(["", "0", "1.005", "-1", "x"].some((v) => valid("price", v))).toBe(false);
    expect(valid("stock", "")).toBe(true);
    expect(valid("stock", "-1")).toBe(false);
  });
});

describe("the grid", () => {
  it("takes a pasted block to the right and down, and leaves the stock of what exists", () => {
    expect(cellsOf("1\t2\r\n3\t4\r\n")).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
    const form = formOf(tee());
    expect(paste(form.rows, { row: 2, cell: "price" }, "¥1,000.00\t5\n20\t6\n30\t7\n")).toBe(3);
    expect(form.rows.map((r) => r.price)).toEqual(["59.00", "69.00", "1000.00", "20"]);
    expect(form.rows.map((r) => r.stock)).toEqual(["", "", "", "6"]);
  });

  it("fills down", () => {
    const form = formOf(tee());
    fillDown(form.rows, { row: 1, cell: "price" });
    expect(form.rows.map((r) => r.price)).toEqual(["59.00", "69.00", "69.00", "69.00"]);
  });
});

describe("two people and one product", () => {
  it("keeps one's own changes and takes the rest of theirs", () => {
    const was = draftOf(formOf(tee()));
    const theirs = { ...tee(), version: 4, subtitle: "她们的", name: "T恤 她" };
    const mine = { ...was, name: "T恤 我", sort: 5 };
    const merged = overTheirs(was, theirs, mine);
    expect([merged.name, merged.subtitle, merged.sort]).toEqual(["T恤 我", "她们的", 5]);
    expect(merged.skus.map((k) => k.id)).toEqual([11, 12, 13]);
  });

  it("takes a combination that both added for one SKU, whose stock is there already", () => {
    const was = draftOf(formOf(tee()));
    const theirs = tee();
    theirs.skus.push({ id: 14, specs: { 颜色: "黑", 尺码: "L" }, price_fen: 100, stock: 9, weight_g: 0 });
    const mine = { ...was, skus: [...was.skus, { specs: { 颜色: "黑", 尺码: "L" }, price_fen: 200, stock: 5 }] };
    expect(overTheirs(was, theirs, mine).skus.at(-1)).toEqual({ id: 14, specs: { 颜色: "黑", 尺码: "L" }, price_fen: 200 });
  });
});

// A product as it is edited: options with their values, and a row for every combination of these. Pure functions, without Vue.
import { fenOf, yuanOf } from "@/format";

export interface Picture {
  url: string;
  thumb_url?: string;
  width?: number;
  height?: number;
}

/** What the server tells of a product, as far as it is edited. */
export interface ProductData {
  id: number;
  version: number;
  category_id: number;
  code?: string;
  name: string;
  subtitle?: string;
  detail_html?: string;
  images: Picture[];
  options: { name: string; values: string[] }[];
  skus: { id: number; specs: Record<string, string>; price_fen: number; stock: number; weight_g: number; image?: string }[];
  virtual: boolean;
  sort: number;
}

/** What is sent. */
export interface ProductDraft {
  name: string;
  category_id: number;
  code?: string;
  subtitle?: string;
  detail_html?: string;
  images?: Picture[];
  options?: { name: string; values: string[] }[];
  virtual?: boolean;
  sort?: number;
  skus: SkuDraft[];
}

export interface SkuDraft {
  id?: number;
  specs: Record<string, string>;
  price_fen: number;
  stock?: number;
  weight_g?: number;
  image?: string;
}

/** A value keeps its uid while its text is edited, so that a renamed value keeps its SKUs. */
export interface OptionValue {
  uid: number;
  text: string;
}

export interface Option {
  uid: number;
  name: string;
  values: OptionValue[];
}

/** One combination. Texts as they were typed; `stockNow` is what the server has of a SKU that exists. */
export interface Row {
  values: number[];
  id?: number;
  sold: boolean;
  price: string;
  stock: string;
  weight: string;
  image: string;
  stockNow?: number;
}

export interface Form {
  name: string;
  code: string;
  subtitle: string;
  categoryId: number | undefined;
  detail: string;
  images: Picture[];
  virtual: boolean;
  sort: number;
  options: Option[];
  /** The combinations of the options, in order. */
  rows: Row[];
  /** Rows whose combination is not there any more: they come back as they were when it is. */
  parked: Row[];
}

let last = 0;
export const uid = (): number => ++last;

const keyOf = (values: number[]) => [...values].sort((a, b) => a - b).join(",");

/** Every combination of the options' values, the last option changing first. */
export function combinations(options: Option[]): number[][] {
  return options
    .filter((o) => o.values.length > 0)
    .reduce<number[][]>((all, o) => all.flatMap((c) => o.values.map((v) => [...c, v.uid])), [[]]);
}

const emptyRow = (values: number[]): Row => ({ values, sold: true, price: "", stock: "", weight: "", image: "" });

/**
 * The rows for the options as they are now. What was typed stays: a combination keeps its row; one with a further option takes the row
 * of the smaller combination (its SKU goes to the option's first value, the others take its price); one with an option less takes the
 * first of those it stands for. What is left over is parked.
 */
export function arrange(form: Form): void {
  const pool = new Map([...form.parked, ...form.rows].map((r) => [keyOf(r.values), r]));
  const wanted = combinations(form.options);
  const exact = new Map(wanted.filter((v) => pool.has(keyOf(v))).map((v) => [keyOf(v), pool.get(keyOf(v))]));
  for (const key of exact.keys()) pool.delete(key);
  const before = form.rows;
  const firsts = new Set(form.options.map((o) => o.values[0]?.uid));
  form.rows = wanted.map((values) => {
    const same = exact.get(keyOf(values));
    if (same) return { ...same, values };
    return grown(values) ?? shrunk(values) ?? emptyRow(values);
  });
  form.parked = [...pool.values()].filter((r) => r.id !== undefined || r.price !== "");

  function grown(values: number[]): Row | undefined {
    const smaller = before.find((r) => r.values.length < values.length && r.values.every((v) => values.includes(v)));
    if (!smaller) return undefined;
    if (values.every((v) => smaller.values.includes(v) || firsts.has(v)) && pool.delete(keyOf(smaller.values)))
      return { ...smaller, values };
    return { ...emptyRow(values), price: smaller.price, weight: smaller.weight, image: smaller.image, sold: smaller.sold };
  }
  function shrunk(values: number[]): Row | undefined {
    const larger = before.find(
      (r) => pool.has(keyOf(r.values)) && r.values.length > values.length && values.every((v) => r.values.includes(v)),
    );
    if (!larger) return undefined;
    pool.delete(keyOf(larger.values));
    return { ...larger, values };
  }
}

/** The specs that a row stands for. */
export function specsOf(form: Form, row: Row): Record<string, string> {
  const specs: Record<string, string> = {};
  for (const o of form.options) {
    const value = o.values.find((v) => row.values.includes(v.uid));
    if (value) specs[o.name.trim()] = value.text.trim();
  }
  return specs;
}

export const specText = (specs: Record<string, string>): string => Object.values(specs).join(" / ");

export function emptyForm(): Form {
  return {
    name: "",
    code: "",
    subtitle: "",
    categoryId: undefined,
    detail: "",
    images: [],
    virtual: false,
    sort: 0,
    options: [],
    rows: [emptyRow([])],
    parked: [],
  };
}

/** The form of a product that exists. Combinations without a SKU are there, unticked. */
export function formOf(p: ProductData): Form {
  const options = p.options.map((o) => ({ uid: uid(), name: o.name, values: o.values.map((text) => ({ uid: uid(), text })) }));
  const form: Form = {
    name: p.name,
    code: p.code ?? "",
    subtitle: p.subtitle ?? "",
    categoryId: p.category_id,
    detail: p.detail_html ?? "",
    images: p.images,
    virtual: p.virtual,
    sort: p.sort,
    options,
    rows: [],
    parked: [],
  };
  form.rows = combinations(options).map((values) => {
    const row = emptyRow(values);
    const specs = specsOf(form, row);
    const sku = p.skus.find((k) => sameSpecs(k.specs, specs));
    if (!sku) return { ...row, sold: p.skus.length === 0 };
    return {
      ...row,
      id: sku.id,
      price: yuanOf(sku.price_fen),
      weight: sku.weight_g ? String(sku.weight_g) : "",
      image: sku.image ?? "",
      stockNow: sku.stock,
    };
  });
  return form;
}

function sameSpecs(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => a[n] === b[n]);
}

const wholeOf = (text: string): number | undefined => (/^\d{1,9}$/.test(text.trim()) ? Number(text.trim()) : undefined);

export type Cell = "price" | "stock" | "weight";

/** Whether what stands in a cell can be sent; an empty stock or weight is none. */
export function valid(cell: Cell, text: string): boolean {
  if (cell === "price") return (fenOf(text) ?? 0) >= 1;
  return text.trim() === "" || wholeOf(text) !== undefined;
}

/** What is sent of the form. Cells that are not valid count as 0: the form refuses to be saved before. */
export function draftOf(form: Form): ProductDraft {
  const draft: ProductDraft = {
    name: form.name.trim(),
    category_id: form.categoryId ?? 0,
    skus: soldRows(form).map((r) => skuOf(form, r)),
  };
  if (form.code.trim()) draft.code = form.code.trim();
  if (form.subtitle.trim()) draft.subtitle = form.subtitle.trim();
  if (form.detail) draft.detail_html = form.detail;
  if (form.images.length > 0) draft.images = form.images.map(({ url }) => ({ url }));
  draft.options = form.options.map((o) => ({ name: o.name.trim(), values: o.values.map((v) => v.text.trim()) }));
  if (form.virtual) draft.virtual = true;
  if (form.sort) draft.sort = form.sort;
  return draft;
}

export const soldRows = (form: Form): Row[] => form.rows.filter((r) => r.sold);

function skuOf(form: Form, row: Row): SkuDraft {
  const sku: SkuDraft = { specs: specsOf(form, row), price_fen: fenOf(row.price) ?? 0 };
  if (row.id !== undefined) sku.id = row.id;
  else if (row.stock.trim()) sku.stock = wholeOf(row.stock) ?? 0;
  const weight = wholeOf(row.weight);
  if (weight) sku.weight_g = weight;
  if (row.image) sku.image = row.image;
  return sku;
}

/** SKUs that exist and would be taken off sale by saving, with their specs as they were. */
export function dropped(form: Form, was: ProductData | undefined): ProductData["skus"] {
  const kept = new Set(soldRows(form).map((r) => r.id));
  return (was?.skus ?? []).filter((k) => !kept.has(k.id));
}

/** The lowest and the highest price of what is for sale; undefined while there is none. */
export function priceRange(form: Form): { from: number; to: number } | undefined {
  const prices = soldRows(form)
    .map((r) => fenOf(r.price) ?? 0)
    .filter((fen) => fen > 0);
  return prices.length > 0 ? { from: Math.min(...prices), to: Math.max(...prices) } : undefined;
}

/** What of a draft is compared and kept together when two people edited one product. */
export const parts = ["name", "code", "subtitle", "category_id", "images", "variants", "detail_html", "virtual", "sort"] as const;
export type Part = (typeof parts)[number];
export type Parts = Record<Part, unknown>;

export function partsOf(d: ProductDraft): Parts {
  return {
    name: d.name,
    code: d.code ?? "",
    subtitle: d.subtitle ?? "",
    category_id: d.category_id,
    images: (d.images ?? []).map((i) => i.url),
    variants: { options: d.options ?? [], skus: d.skus },
    detail_html: d.detail_html ?? "",
    virtual: d.virtual ?? false,
    sort: d.sort ?? 0,
  };
}

/**
 * The draft that keeps one's own changes over what somebody else saved meanwhile: what one did not touch is theirs. A combination that
 * both added is one SKU: it exists now, so its stock is left to the stock operation.
 */
export function overTheirs(was: ProductDraft, theirs: ProductData, mine: ProductDraft): ProductDraft {
  const now = draftOf(formOf(theirs));
  const [before, own] = [partsOf(was), partsOf(mine)];
  const touched = (part: Part) => JSON.stringify(before[part]) !== JSON.stringify(own[part]);
  const merged: ProductDraft = { ...now };
  for (const part of parts) {
    if (part === "variants" || !touched(part)) continue;
    Object.assign(merged, { [part]: mine[part] });
  }
  if (touched("variants")) {
    merged.options = mine.options;
    merged.skus = mine.skus.map((sku) => {
      const existing = theirs.skus.find((k) => sameSpecs(k.specs, sku.specs));
      if (sku.id !== undefined || !existing) return sku;
      const one: SkuDraft = { ...sku, id: existing.id };
      delete one.stock;
      return one;
    });
  }
  return merged;
}

import { money, time } from "@/format";
import { i18n, t } from "@/i18n";
import { verbs } from "./verbs";

const known = (key: string) => i18n.global.te(key) || i18n.global.te(key, "zh");

/** The verb of an operation by its id, such as admin-post-orders-by-no-close; of one that the API has no more, that something changed. */
export function verbOf(action: string): string {
  return t(`changes.verbs.${(verbs as Record<string, string>)[action] ?? "change"}`);
}

export function kindOf(kind: string): string {
  const key = `changes.kinds.${kind}`;
  return known(key) ? t(key) : kind;
}

/** A value of a field as people read it: money by the field's name, times in the shop's zone. */
export function valueOf(field: string, value: unknown): string {
  if (value === undefined || value === null || value === "") return "–";
  if (typeof value === "number" && field.endsWith("_fen")) return money(value);
  if (typeof value === "boolean") return t(value ? "common.yes" : "common.no");
  if (typeof value === "string") return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? time(value) : value;
  if (Array.isArray(value) && value.every((v) => typeof v !== "object")) return value.join("、") || "–";
  return JSON.stringify(value, undefined, 2);
}

import type { components } from "@/api/schema";
import { duration } from "@/format";
import { t } from "@/i18n";

export type Policy = components["schemas"]["AdminPolicy"];
export type Version = components["schemas"]["AdminPolicyVersion"];
export type Stage = components["schemas"]["AdminPolicyStage"];
export type Preview = components["schemas"]["AdminPolicyPreview"];

/** The stages in the order of an order's life. */
export const stageOrder = ["pay", "remind", "ship", "confirm", "aftersale"] as const;

/** How long a stage may take, in words; 0 is no deadline. */
export const lasts = (ms: number): string => (ms === 0 ? t("policies.off") : duration(ms));

/** What a policy applies to, in words. */
export function scopeOf(p: Pick<Policy, "merchant_id" | "order_type" | "biz_line">, own?: number): string {
  const whose = !p.merchant_id
    ? t("policies.all")
    : p.merchant_id === own
      ? t("policies.own")
      : t("policies.merchant", { id: p.merchant_id });
  const type = t(`policies.type.${p.order_type || "any"}`);
  return [whose, type, ...(p.biz_line ? [t("policies.line", { line: p.biz_line })] : [])].join(" · ");
}

const units = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export type Unit = keyof typeof units;
export const unitNames = Object.keys(units) as Unit[];

/** Milliseconds as a number of the largest unit that they are a whole number of. */
export function inUnit(ms: number): { n: number; unit: Unit } {
  const unit = [...unitNames].reverse().find((u) => ms > 0 && ms % units[u] === 0) ?? "s";
  return { n: ms / units[unit], unit };
}
export const inMs = (n: number, unit: Unit): number => Math.round(n * units[unit]);

/** What may be changed of a policy, as the form has it. */
export interface Draft {
  durationMs: number;
  enabled: boolean;
  rollout: number;
}
export const draftOf = (p: { duration_ms: number; enabled: boolean; rollout_percent: number }): Draft => ({
  durationMs: p.duration_ms,
  enabled: p.enabled,
  rollout: p.rollout_percent,
});

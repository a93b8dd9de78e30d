// A coupon template while it is written: amounts as people type them, times on the shop's wall.
import type { AdminCouponBody, AdminCouponTemplate } from "@/api/schema";
import { fenOf, yuanOf } from "@/format";
import { fromWall, toWall } from "./wall";

export interface Draft {
  name: string;
  kind: AdminCouponBody["kind"];
  amount: string;
  percent: number | undefined;
  max: string;
  threshold: string;
  scope: AdminCouponBody["scope"];
  ids: number[];
  total: number | undefined;
  perShopper: number | undefined;
  startsAt: string;
  endsAt: string;
  validDays: number | undefined;
}

const day = 86_400_000;

export function newDraft(): Draft {
  const now = Date.now();
  return {
    name: "",
    kind: "amount",
    amount: "",
    percent: undefined,
    max: "",
    threshold: "",
    scope: "all",
    ids: [],
    total: 1000,
    perShopper: 1,
    startsAt: toWall(new Date(now).toISOString()),
    endsAt: toWall(new Date(now + 30 * day).toISOString()),
    validDays: undefined,
  };
}

const yuan = (fen: number | undefined) => (fen ? yuanOf(fen) : "");

export function draftOf(c: AdminCouponBody | AdminCouponTemplate): Draft {
  return {
    name: c.name,
    kind: c.kind,
    amount: yuan(c.amount_fen),
    percent: c.percent_off,
    max: yuan(c.max_discount_fen),
    threshold: yuan(c.threshold_fen),
    scope: c.scope,
    ids: [...(c.scope_ids ?? [])],
    total: c.total,
    perShopper: c.per_shopper,
    startsAt: toWall(c.starts_at),
    endsAt: toWall(c.ends_at),
    validDays: c.valid_days || undefined,
  };
}

/** What the draft says, as far as it says it; what cannot be read counts as 0. */
export function bodyOf(d: Draft): AdminCouponBody {
  const fen = (text: string) => fenOf(text) ?? 0;
  return {
    name: d.name.trim(),
    kind: d.kind,
    ...(d.kind === "amount" && { amount_fen: fen(d.amount) }),
    ...(d.kind === "percent" && { percent_off: d.percent ?? 0, max_discount_fen: fen(d.max) }),
    threshold_fen: fen(d.threshold),
    scope: d.scope,
    ...(d.scope !== "all" && { scope_ids: d.ids }),
    total: d.total ?? 0,
    per_shopper: d.perShopper ?? 0,
    starts_at: fromWall(d.startsAt),
    ends_at: fromWall(d.endsAt),
    valid_days: d.validDays ?? 0,
  };
}

/** The fields that are wrong, by their names in the body, with the key of what to say. */
export function wrongIn(d: Draft): Partial<Record<keyof AdminCouponBody, string>> {
  const amount = (text: string, needed: boolean) => {
    const fen = fenOf(text);
    return text.trim() === "" ? needed : fen === undefined || fen < (needed ? 1 : 0);
  };
  const wrong: Partial<Record<keyof AdminCouponBody, string>> = {};
  if (!d.name.trim()) wrong.name = "common.required";
  if (d.kind === "amount" && amount(d.amount, true)) wrong.amount_fen = "coupons.amountWrong";
  if (d.kind === "percent" && !d.percent) wrong.percent_off = "common.required";
  if (d.kind === "percent" && amount(d.max, false)) wrong.max_discount_fen = "coupons.amountWrong";
  if (amount(d.threshold, false)) wrong.threshold_fen = "coupons.amountWrong";
  if (d.scope !== "all" && d.ids.length === 0) wrong.scope_ids = "coupons.scopeWrong";
  if (!d.total) wrong.total = "common.required";
  if (!d.perShopper) wrong.per_shopper = "common.required";
  if (!d.startsAt) wrong.starts_at = "common.required";
  if (!d.endsAt) wrong.ends_at = "common.required";
  else if (d.startsAt && d.endsAt <= d.startsAt) wrong.ends_at = "coupons.whenWrong";
  return wrong;
}

// A coupon's rule in words: "满 ¥100.00 减 ¥10.00，全场可用，每人限领 2 张，领取后 7 天有效".
import type { AdminCouponBody } from "@/api/schema";
import { count, money, time } from "@/format";
import { language, t } from "@/i18n";

/** How many names are told before they are only counted. */
const most = 3;

const w = (key: string, values: Record<string, string | number> = {}) => t(`coupons.words.${key}`, values);

function saving(c: AdminCouponBody): string {
  const threshold = c.threshold_fen > 0 ? w("threshold", { money: money(c.threshold_fen) }) : w("noThreshold");
  let what = w("free_shipping");
  if (c.kind === "amount") what = w("amount", { money: money(c.amount_fen ?? 0) });
  if (c.kind === "percent") {
    const off = c.percent_off ?? 0;
    what = w("percent", { percent: off, fold: String((100 - off) / 10) });
    if (c.max_discount_fen) what += w("max", { money: money(c.max_discount_fen) });
  }
  if (language.value === "en") return what + threshold;
  return c.threshold_fen > 0 ? `${threshold} ${what}` : threshold + what;
}

function scope(c: AdminCouponBody, names: string[]): string {
  if (c.scope === "all") return w("all");
  const n = c.scope_ids?.length ?? 0;
  if (names.length === n && n > 0 && n <= most) return w(c.scope, { names: names.join(w("list")) });
  return t(`coupons.words.${c.scope}N`, { n: count(n) }, n);
}

export function ruleInWords(c: AdminCouponBody, names: string[] = []): string {
  const valid = c.valid_days ? w("validDays", { n: count(c.valid_days) }) : w("until", { time: c.ends_at ? time(c.ends_at) : "–" });
  return [saving(c), scope(c, names), w("perShopper", { n: count(c.per_shopper) }), valid].join(w("comma"));
}

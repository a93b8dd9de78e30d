// What the timeline says of each moment of an order.
import type { components } from "@/api/schema";
import type { TimelineEntry } from "@/components/TimeLine.vue";
import { money } from "@/format";
import { i18n, t } from "@/i18n";

type Moment = components["schemas"]["AdminOrderMoment"];

// The kinds of words.ts that the states of a moment belong to.
const words: Record<string, string> = {
  attempt_ended: "attempt",
  message: "message",
  refund_ended: "refund",
  aftersale_now: "aftersale",
  upload: "upload",
  notice: "notice",
};

function title(m: Moment): string {
  const key = words[m.kind];
  const word = `words.${key}.${m.status ?? ""}`;
  const status = key && i18n.global.te(word) ? t(word) : (m.status ?? "");
  const amount = m.amount_fen === undefined ? "" : money(m.amount_fen);
  if (m.kind === "event") {
    if (m.details?.from === undefined) return t("orders.moment.placed");
    return t(`orders.moment.event.${m.details.from === "paid" && m.status === "paid" ? "paidAgain" : m.status}`);
  }
  if (m.kind === "remark" && !m.reason) return t("orders.moment.remark_cleared");
  if (m.kind === "parcel") {
    const way = t(`orders.delivery.${String(m.details?.delivery)}`);
    return t("orders.moment.parcel", { parcel: [way, m.details?.carrier, m.details?.tracking_no].filter(Boolean).join(" ") });
  }
  return t(`orders.moment.${m.kind}`, { amount, status, topic: m.reason ?? "" });
}

function reason(m: Moment): string | undefined {
  if (m.kind === "message") return undefined;
  if (m.kind === "anomaly") return String(m.details?.detail ?? "");
  if (m.kind !== "event") return m.reason;
  const price = /^price (\d+) → (\d+) fen$/.exec(m.reason ?? "");
  if (price) return t("orders.reason.price", { was: money(Number(price[1])), now: money(Number(price[2])) });
  const key = `orders.reason.${m.reason ?? ""}`;
  if (i18n.global.te(key)) return t(key);
  const close = `words.closeReason.${m.reason ?? ""}`;
  return i18n.global.te(close) ? t(close) : m.reason;
}

function tone(m: Moment): TimelineEntry["tone"] {
  if (m.kind === "payment" || (m.kind === "refund_ended" && m.status === "success")) return "green";
  if (m.status === "dead" || m.status === "refused" || m.status === "failed" || m.status === "abnormal") return "red";
  return m.kind === "anomaly" ? "amber" : undefined;
}

/** The entries of the timeline, the newest first. */
export function entriesOf(moments: Moment[]): TimelineEntry[] {
  return moments
    .map((m, i) => ({
      key: `${i}-${m.kind}-${m.ref ?? ""}`,
      title: title(m),
      at: m.at,
      actor: m.actor === "timeout" ? t("orders.timeout") : m.actor,
      reason: reason(m),
      tone: tone(m),
      details: m.ref || m.details ? { ref: m.ref, ...m.details } : undefined,
    }))
    .reverse();
}

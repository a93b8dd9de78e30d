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
    return t(`orders.moment.event.${m.details.from === m.status ? "changed" : m.status}`);
  }
  if (m.kind === "remark" && !m.reason) return t("orders.moment.remark_cleared");
  if (m.kind === "parcel") {
    const way = t(`orders.delivery.${String(m.details?.delivery)}`);
    return t("orders.moment.parcel", { parcel: [way, m.details?.carrier, m.details?.tracking_no].filter(Boolean).join(" ") });
  }
  return t(`orders.moment.${m.kind}`, { amount, status, topic: m.reason ?? "" });
}

// Reasons of events that tell something of their own, and what it is, by its place.
const telling: Record<string, { form: RegExp; says: (found: string[]) => Record<string, string> }> = {
  price: { form: /^price (\d+) → (\d+) fen$/, says: ([was, now]) => ({ was: money(Number(was)), now: money(Number(now)) }) },
  refunded: { form: /^refunded (\d+) fen as (\S+)$/, says: ([fen, no = ""]) => ({ amount: money(Number(fen)), no }) },
  retimed: { form: /^deadline moved by version (\d+) of policy (\d+)$/, says: ([version = "", policy = ""]) => ({ version, policy }) },
  parcel: {
    form: /^parcel (\d+) is (\S*) (\S*), was (\S*) (\S*)$/,
    says: ([id = "", carrier, no, carrierWas, noWas]) => ({ id, now: `${carrier} ${no}`, was: `${carrierWas} ${noWas}` }),
  },
};

/** Why an event happened, as the server wrote it, in the panel's language; a reason that the panel does not know stays as it is. */
export function eventReason(said: string): string {
  for (const [key, { form, says }] of Object.entries(telling)) {
    const found = form.exec(said);
    if (found) return t(`orders.told.${key}`, says(found.slice(1)));
  }
  const key = `orders.reason.${said}`;
  if (i18n.global.te(key)) return t(key);
  const close = `words.closeReason.${said}`;
  return i18n.global.te(close) ? t(close) : said;
}

function reason(m: Moment): string | undefined {
  if (m.kind === "message") return undefined;
  if (m.kind === "anomaly") return t(`money.kind.${String(m.details?.kind)}.word`);
  if (m.kind === "callback" && m.reason) return t(`money.reason.${m.reason}`);
  return m.kind === "event" && m.reason ? eventReason(m.reason) : m.reason;
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

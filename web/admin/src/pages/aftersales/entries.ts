// The timeline of an after-sale: its steps, the calls for its refund, and the alert while it stands.
import type { AdminAftersaleDetail } from "@/api/schema";
import type { TimelineEntry } from "@/components/TimeLine.vue";
import { t } from "@/i18n";

type Step = AdminAftersaleDetail["steps"][number];

function titleOf(step: Step, before: Step | undefined): string {
  let key: string = step.status;
  if (step.failed) key = "failed";
  else if (step.status === "returning" && before?.status === "returning") key = "corrected";
  else if (step.status === "refunding" && before && before.status !== "requested") key = "received";
  return t(`aftersales.steps.${key}`);
}

function toneOf(step: Step): TimelineEntry["tone"] {
  if (step.failed) return "red";
  return step.status === "refunded" ? "green" : undefined;
}

export function entriesOf(a: AdminAftersaleDetail): TimelineEntry[] {
  const entries: TimelineEntry[] = a.steps.map((step, i) => ({
    key: `step-${i}`,
    title: titleOf(step, a.steps[i - 1]),
    at: step.at,
    actor: step.actor,
    reason: step.tracking_no ? `${step.carrier ?? ""} ${step.tracking_no}` : step.text,
    tone: toneOf(step),
    details: step,
  }));
  if (a.steps.length === 0) {
    entries.push({ key: "asked", title: t("aftersales.steps.requested"), at: a.created_at, actor: "shopper", reason: a.reason });
  }
  if (a.refund?.called_at) {
    const { called_at: at, error: reason } = a.refund;
    entries.push({ key: "called", title: t("aftersales.steps.called"), at, actor: "system", reason, details: a.refund });
  }
  if (a.answer_overdue_at) {
    entries.push({ key: "overdue", title: t("aftersales.steps.overdue"), at: a.answer_overdue_at, actor: "system", tone: "amber" });
  }
  // The newest first; of one instant what was later in its own order.
  return entries.reverse().sort((x, y) => y.at.localeCompare(x.at));
}

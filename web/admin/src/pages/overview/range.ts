// The times that the overview compares, as days in the shop's zone.
import { day } from "@/format";

export type RangeName = "today" | "week" | "month";

export const ranges: RangeName[] = ["today", "week", "month"];

export interface Span {
  from: string;
  to?: string;
}

const ms = 86_400_000;

/** The time named, up to now, and the one before it that is as long. */
export function spansOf(name: RangeName, now: Date): { now: Span; before: Span } {
  if (name === "today") {
    return { now: { from: day(now) }, before: { from: day(new Date(now.getTime() - ms)), to: new Date(now.getTime() - ms).toISOString() } };
  }
  const days = name === "week" ? 7 : 30;
  const back = (n: number) => day(new Date(now.getTime() - n * ms));
  return { now: { from: back(days - 1) }, before: { from: back(2 * days - 1), to: back(days) } };
}

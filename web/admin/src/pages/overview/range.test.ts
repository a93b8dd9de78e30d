import { expect, test } from "vitest";
import { zone } from "@/format";
import { spansOf } from "./range";

// 2026-11-29 23:30 UTC is already the 30th in Shanghai.
const now = new Date("2026-11-29T23:30:00.000Z");

test("days are the shop's, and the former time is as long", () => {
  zone.value = "Asia/Shanghai";
  expect(spansOf("today", now)).toEqual({ now: { from: "2026-11-30" }, before: { from: "2026-11-29", to: "2026-11-28T23:30:00.000Z" } });
  expect(spansOf("week", now)).toEqual({ now: { from: "2026-11-24" }, before: { from: "2026-11-17", to: "2026-11-23" } });
  expect(spansOf("month", now)).toEqual({ now: { from: "2026-11-01" }, before: { from: "2026-10-02", to: "2026-10-31" } });
});

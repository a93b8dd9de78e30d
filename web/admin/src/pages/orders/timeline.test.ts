import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { i18n } from "@/i18n";
import { entriesOf, eventReason } from "./timeline";

afterEach(() => void (i18n.global.locale.value = "zh"));

test.each([
  ["price 1990 → 1890 fen", "应付由 ¥19.90 改为 ¥18.90", "Payable from ¥19.90 to ¥18.90"],
  ["refunded 1990 fen as R20261129", "退款 ¥19.90，退款单号 R20261129", "¥19.90 refunded as R20261129"],
  ["deadline moved by version 3 of policy 2", "付款截止时间按策略 2 的第 3 版重算", "Payment deadline moved by version 3 of policy 2"],
  ["parcel 7 is YTO YT2, was SF SF1", "包裹 7 由 SF SF1 改为 YTO YT2", "Parcel 7 from SF SF1 to YTO YT2"],
  ["confirmed at WeChat", "买家在微信确认收货", "The shopper confirmed the receipt at WeChat"],
  ["timeout", "超时", "timeout"],
  ["placed", "", ""],
  ["whatever is new", "whatever is new", "whatever is new"],
])("%s", (said, zh, en) => {
  expect(eventReason(said)).toBe(zh);
  i18n.global.locale.value = "en";
  expect(eventReason(said)).toBe(en);
});

test("every reason that the server writes has words", () => {
  const folder = join(import.meta.dirname, "../../../../../service/order");
  const reasons = readdirSync(folder)
    .filter((f) => f.endsWith(".go") && !f.endsWith("_test.go"))
    .flatMap((f) => readFileSync(join(folder, f), "utf8").split("\n"))
    .flatMap((line) => /(?:\breason(?::|,| :?=) |\.Complete\().*/.exec(line)?.[0].match(/"[^"]*"/g) ?? [])
    .map((literal) => literal.slice(1, -1))
    // What else stands on such lines is SQL and names of columns.
    .filter((text) => text && !/[_=]/.test(text))
    .map((text) => text.replaceAll("%d", "7").replaceAll("%s", "X1"));
  expect(reasons).toContain("refunded 7 fen as X1");
  expect(reasons).toContain("shipped in part");
  expect(reasons.length).toBeGreaterThan(15);
  expect(reasons.filter((said) => eventReason(said) === said)).toEqual([]);
});

test("a change that leaves the order where it was does not say that it came there again", () => {
  const at = "2026-11-29T06:05:00.000Z";
  const title = (from: string, to: string) => entriesOf([{ at, kind: "event", status: to, details: { from, to } }])[0]?.title;
  expect(title("paid", "shipped")).toBe("订单已发货");
  expect(title("shipped", "shipped")).toBe("订单变更");
});

test("anomalies and refused callbacks are told in words", () => {
  const at = "2026-11-29T06:05:00.000Z";
  const told = entriesOf([
    { at, kind: "callback", status: "refused", reason: "misfit_amount" },
    { at, kind: "anomaly", details: { kind: "late_payment", detail: "paid 1990 fen" } },
  ]).map((e) => e.reason);
  expect(told).toEqual(["迟到支付", "金额不符"]);
});

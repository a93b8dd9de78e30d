// WeChat's bills: a day is compared, what differs leads to its anomaly, and a bill that was put right clears it up.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, buy, caller, serve, shopper, until } from "../../e2e/shop.js";
import { gallery, panel } from "./panel.js";

let shop, browser, api, sandbox;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  api = await admin(shop);
  sandbox = caller(shop.sandbox);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

// The day of the bill in which an order's payment is: WeChat writes times as those of China.
const dayOf = async (order) => (await sandbox("GET", `/sandbox/transactions/${order.out_trade_no}`)).success_time.slice(0, 10);

async function paid(name) {
  const person = await shopper(shop, name);
  const { order, prepay } = await buy(person);
  await sandbox("POST", "/sandbox/pay", { prepay_id: prepay });
  return until("the order is paid", async () => {
    const now = await person("GET", `/api/v1/orders/${order.no}`);
    return now.status === "paid" && now;
  });
}

test("a day is reconciled: a payment that WeChat has as another amount is found, and one that WeChat alone knows of", async () => {
  const before = await paid("billed");
  const wrong = await paid("billed-otherwise");
  const day = await dayOf(wrong);
  const right = (await dayOf(before)) === day ? before : await paid("billed-after-midnight");
  await sandbox("POST", "/sandbox/settings", {
    bill_today: true,
    bill_edits: [
      { out_trade_no: wrong.out_trade_no, set: { 订单金额: "0.01" } },
      { out_trade_no: "FOREIGN0001", add: true },
    ],
  });
  await panel(browser, shop, "/bills", async (page) => {
    const picker = page.getByRole("combobox", { name: "选择日期" });
    await picker.fill(day);
    await picker.press("Enter");
    await page.getByRole("button", { name: "对账某一天" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "对账某一天" }).click();
    await page.waitForURL(new RegExp(`/bills/${day}$`));
    await page.getByText("已对账", { exact: true }).waitFor();
    // The wrong one counts as the 0.01 of the bill, the foreign one as the yuan that the sandbox made up.
    const total = (right.payable_fen + 1 + 100) / 100;
    await page.getByText(`¥${total.toLocaleString("en", { minimumFractionDigits: 2 })}`, { exact: true }).waitFor();
    await page.getByRole("row").filter({ hasText: "¥0.01" }).getByRole("link", { name: "查看异常" }).click();
    await page.getByRole("link", { name: wrong.no }).waitFor();
    await page.goBack();
    await page.getByRole("row").filter({ hasText: "42000FOREIGN0001" }).getByRole("link", { name: "查看异常" }).click();
    await page.getByText("42000FOREIGN0001").first().waitFor();
  });
  assert.equal((await api("GET", `/api/admin/v1/bills/${day}`)).differences.total, 2);
  await gallery(browser, shop, `/bills/${day}`, "bill");
  await gallery(browser, shop, "/bills", "bills");
});

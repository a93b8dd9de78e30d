// Money that waits for a person: late payments, anomalies, callbacks, messages, uploads.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, buy, caller, serve, shopper, until } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

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

// An order that was opened at WeChat, with its number there.
async function opened(name) {
  const person = await shopper(shop, name);
  const { order } = await buy(person);
  const { out_trade_no } = await person("GET", `/api/v1/orders/${order.no}`);
  return { person, order, no: out_trade_no };
}

const notify = (no, more = {}) => sandbox("POST", "/sandbox/notify", { to: "pay", out_trade_no: no, times: 1, ...more });

test("a late payment is shown with its refund", async () => {
  const { person, order, no } = await opened("late");
  await person("POST", `/api/v1/orders/${order.no}/cancel`);
  await until("the order is closed", async () => (await person("GET", `/api/v1/orders/${order.no}`)).status === "closed");
  await notify(no);
  await panel(browser, shop, "/late-payments", async (page) => {
    const row = page.getByRole("row").filter({ hasText: order.no });
    await row.getByText("已关闭（买家取消）").waitFor();
    await row.getByText(/待发起|退款中|已退款/).waitFor();
    await page.getByRole("link", { name: "查看异常" }).first().click();
    await page.getByRole("heading", { name: "迟到支付" }).waitFor();
    await page.getByRole("link", { name: order.no }).waitFor();
  });
});

test("an amount that differs by 1 is seen, and resolved with a note", async () => {
  const { order, no } = await opened("off-by-one");
  await notify(no, { override: { amount_total: order.payable_fen - 1 } });
  await notify(no, { tamper: "signature" });
  await until("the callback is recorded", async () => (await api("GET", `/api/admin/v1/callbacks?out_trade_no=${no}`)).list.length > 0);
  await panel(browser, shop, "/anomalies", async (page) => {
    await page.getByRole("row").filter({ hasText: no }).getByRole("link", { name: "支付金额不符" }).click();
    await page.getByText("发生了什么").waitFor();
    await page.getByText("请求支付").waitFor();
    await page.getByRole("button", { name: "处理", exact: true }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("已在商户平台核对");
    await page.getByRole("dialog").getByRole("button", { name: "处理", exact: true }).click();
    await page.getByRole("main").getByText("已在商户平台核对").waitFor();
  });
  assert.equal((await api("GET", "/api/admin/v1/anomalies?status=resolved")).total, 1);
});

test("callbacks show what was accepted and what was refused", async () => {
  await panel(browser, shop, "/callbacks", async (page) => {
    await page.getByRole("main").getByText("已接收").nth(1).waitFor();
    await page.getByText("金额不符").first().waitFor();
    await page.getByText("签名错误").waitFor();
    await page.getByRole("button", { name: "已拒绝", exact: true }).click();
    await page.waitForURL(/verdict=refused/);
    await settled(page);
  });
});

test("an upload is listed", async () => {
  const { person, order, no } = await opened("ships");
  await notify(no);
  await until("the order is paid", async () => (await person("GET", `/api/v1/orders/${order.no}`)).status === "paid");
  await api("POST", `/api/admin/v1/orders/${order.no}/ship`, {
    parcels: [{ delivery: "express", carrier: "ZTO", tracking_no: "ZT1234567890" }],
  });
  await until("the upload went out", async () =>
    (await api("GET", "/api/admin/v1/shipping-uploads?status=uploaded")).list.some((u) => u.order_no === order.no),
  );
  await panel(browser, shop, "/shipping-uploads?status=uploaded", async (page) => {
    await page.getByRole("row").filter({ hasText: order.no }).getByText("微信已收到。").waitFor();
  });
});

test("messages are listed with what they say", async () => {
  await panel(browser, shop, "/messages?status=sent", async (page) => {
    await page.getByText("order.paid").first().waitFor();
    await page.locator(".el-table__expand-icon").first().click();
    await page.getByLabel("内容").first().waitFor();
    await accessible(page);
  });
});

test("pictures", pictured, async () => {
  const { list } = await api("GET", "/api/admin/v1/anomalies?status=resolved");
  for (const [path, name] of [
    ["/anomalies?status=all", "anomalies"],
    [`/anomalies/${list[0].id}`, "anomaly"],
    ["/late-payments", "late-payments"],
    ["/callbacks", "callbacks"],
    ["/messages?status=sent", "messages"],
    ["/shipping-uploads?status=uploaded", "uploads"],
  ])
    await gallery(browser, shop, path, name);
});

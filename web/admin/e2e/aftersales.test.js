// After-sales: the queue; one is approved and the money comes back, one is rejected with a reason, goods come back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, caller, serve, until } from "../../e2e/shop.js";
import { asks, paid } from "./goods.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

test("an approved after-sale brings the money back", async () => {
  const { me, order } = await paid(shop, "wants-money");
  const asked = await asks(me, order, "买多了");
  await panel(browser, shop, "/aftersales", async (page) => {
    await settled(page);
    await page.getByText(/^剩 /).waitFor();
    await page.getByRole("link", { name: new RegExp(order.lines[0].name) }).click();
    await page.getByRole("heading", { name: `售后 ${asked.id}` }).waitFor();
    await page.getByText("买多了").first().waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "同意并退款" }).click();
    await page.getByRole("dialog").getByText("将向买家退款").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "同意并退款" }).click();
    await page.getByRole("listitem").filter({ hasText: "退款到账" }).waitFor({ timeout: 20_000 });
    const { list } = await caller(shop.sandbox)("GET", `/sandbox/refunds?out_trade_no=${order.out_trade_no}`);
    assert.equal(list.length, 1);
    assert.equal((await me("GET", `/api/v1/aftersales/${asked.id}`)).status, "refunded");
    assert.equal(await page.getByRole("button", { name: "拒绝" }).count(), 0);
  });
});

test("a rejected one tells the shopper why", async () => {
  const { me, order } = await paid(shop, "is-refused");
  const asked = await asks(me, order, "试试看");
  await panel(browser, shop, `/aftersales/${asked.id}`, async (page) => {
    await page.getByRole("button", { name: "拒绝" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "拒绝" }).click();
    await dialog.getByText("请填写").waitFor();
    await dialog.getByLabel("拒绝的原因").fill("商品已定制，无法退款");
    await dialog.getByRole("button", { name: "拒绝" }).click();
    await page.getByRole("listitem").filter({ hasText: "商家拒绝" }).getByText("商品已定制，无法退款", { exact: true }).waitFor();
    const told = await me("GET", `/api/v1/aftersales/${asked.id}`);
    assert.equal(told.status, "rejected");
    assert.equal(told.answer, "商品已定制，无法退款");
  });
});

test("goods come back before the money does, and a stale page says so", async () => {
  const api = await admin(shop);
  const { me, order } = await paid(shop, "sends-back");
  await api("POST", `/api/admin/v1/orders/${order.no}/ship`, { parcels: [{ delivery: "virtual" }] });
  const { version, name } = await api("GET", "/api/admin/v1/shop-settings");
  const return_to = { name: "潮汐仓库", phone: "021-62345678", address: "上海市黄浦区人民大道 200 号" };
  await api("PUT", "/api/admin/v1/shop-settings", { version, name, return_to });
  const asked = await asks(me, order, "尺码不合适", "return_refund");
  await panel(
    browser,
    shop,
    `/aftersales/${asked.id}`,
    async (page) => {
      const content = page.locator("#content"); // without the dialogs, of which one may still be closing
      await content.getByRole("button", { name: "同意", exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("上海市黄浦区人民大道 200 号").waitFor();
      await dialog.getByText("这次寄到别的地址").click();
      await dialog.getByLabel("收件人").fill("维修点");
      await dialog.getByRole("button", { name: "同意", exact: true }).click();
      await dialog.getByText("请填写").first().waitFor();
      await dialog.getByLabel("收件电话").fill("400-123-4567");
      await dialog.getByLabel("寄回地址").fill("苏州市姑苏区平江路 1 号");
      await accessible(page);
      await dialog.getByLabel("给买家的话").fill("请在七天内寄回");
      await page.getByRole("dialog").getByRole("button", { name: "同意", exact: true }).click();
      await page.getByRole("listitem").filter({ hasText: "请在七天内寄回" }).waitFor();
      await content.getByText("苏州市姑苏区平江路 1 号").waitFor();
      assert.equal((await me("GET", `/api/v1/aftersales/${asked.id}`)).return_address.name, "维修点");
      await content.getByRole("button", { name: "收到退货并退款" }).click();
      await me("POST", `/api/v1/aftersales/${asked.id}/return-parcel`, { carrier: "ZTO", tracking_no: "75312345678901" });
      await page.getByRole("dialog").getByRole("button", { name: "收到退货并退款" }).click();
      await page.getByText("别人刚刚处理过").waitFor();
      await page.getByRole("listitem").filter({ hasText: "75312345678901" }).waitFor();
      await content.getByRole("button", { name: "收到退货并退款" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "收到退货并退款" }).click();
      await page.getByRole("listitem").filter({ hasText: "商家收到退货" }).waitFor();
      await until("the money is back", async () => (await me("GET", `/api/v1/aftersales/${asked.id}`)).status === "refunded");
    },
    { expected: [/409/] },
  );
});

test("the list is narrowed by order and by tab, and kept in the address", async () => {
  const { me, order } = await paid(shop, "is-found");
  await asks(me, order, "拍错了");
  await panel(browser, shop, `/aftersales?order_no=${order.no}`, async (page) => {
    await page.getByText(order.no).waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    await page.getByRole("button", { name: "已拒绝" }).click();
    await page.waitForURL(/status=rejected/);
    await page.getByText("没有售后").waitFor();
    await page.goBack();
    await page.getByText(order.no).waitFor();
  });
});

test("pictures", pictured, async () => {
  const { me, order } = await paid(shop, "is-seen");
  const asked = await asks(me, order, "不想要了，买的时候没有注意到颜色和我想的不一样");
  await gallery(browser, shop, "/aftersales?status=all", "aftersales");
  await gallery(browser, shop, `/aftersales/${asked.id}`, "aftersale");
});

// The overview: its figures are those of what was sold.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, shopper } from "../../e2e/shop.js";
import { paid } from "./goods.js";
import { gallery, panel, pictured, settled } from "./panel.js";
import { place } from "./place.js";

let shop, browser, orders;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  orders = [];
  for (const name of ["one", "two", "three"]) orders.push((await paid(shop, `overview-${name}`)).order);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const yuan = (fen) => `¥${(fen / 100).toLocaleString("en", { minimumFractionDigits: 2 })}`;

const day = (time) => new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Shanghai", dateStyle: "short" }).format(new Date(time));

test("the figures are those of the orders", async () => {
  await place(await shopper(shop, "overview-unpaid"));
  const sum = orders.reduce((fen, o) => fen + o.payable_fen, 0);
  // Today is what is looked at, but where midnight is about: the week has all of them then.
  const today = day(orders[0].created_at) === day(Date.now() + 300_000);
  await panel(browser, shop, today ? "/" : "/?range=week", async (page) => {
    await settled(page);
    const figure = (name) => page.locator(".figures .card").filter({ hasText: name }).locator(".value").textContent();
    assert.equal(await figure("支付金额"), yuan(sum));
    assert.equal(await figure("支付订单"), "3");
    assert.equal(await figure("支付率"), "75.0%");
    assert.equal(await figure("客单价"), yuan(Math.round(sum / 3)));
    assert.equal(await figure("退款"), yuan(0));
    assert.match(
      await page
        .locator("section", { has: page.getByRole("heading", { name: "卖得最多的商品" }) })
        .last()
        .innerText(),
      new RegExp(orders[0].lines[0].name),
    );
    await page.getByRole("link", { name: "待发货订单" }).first().click();
    await page.waitForURL(/orders\?status=paid/);
    await page.getByRole("link", { name: orders[0].no }).waitFor();
  });
});

test("pictures", pictured, async () => {
  const boss = await admin(shop);
  const { list } = await boss("GET", "/api/admin/v1/orders");
  await gallery(browser, shop, "/", "overview", (page) => page.locator("main svg text").first().waitFor());
  await gallery(browser, shop, `/search?q=${list[0].lines[0].name.slice(0, 2)}`, "search");
  await gallery(browser, shop, `/orders/slips?nos=${orders.map((o) => o.no).join(",")}`, "slips", (page) =>
    page.locator("article").nth(2).waitFor(),
  );
});

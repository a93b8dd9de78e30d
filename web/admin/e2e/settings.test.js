// Shop settings, freight rules and message templates.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { serve, shopper } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

test("a notice that is saved is what shoppers see, and the change log shows it before and after", async () => {
  await panel(browser, shop, "/shop-settings", async (page, api) => {
    await settled(page);
    await page.getByLabel("店铺公告").fill("每日 16:00 前付款当日发货");
    await page.getByRole("button", { name: "保存" }).click();
    await page.getByText("已保存").waitFor();
    const { merchant_id: merchant } = await api("GET", "/api/admin/v1/shop-settings");
    const seen = await fetch(`${shop.url}/api/v1/shop?merchant_id=${merchant}`).then((r) => r.json());
    assert.equal(seen.notice, "每日 16:00 前付款当日发货");
    await accessible(page);
    await page.goto(`${shop.url}/admin/changes`);
    await page
      .getByRole("button", { name: /店铺设置/ })
      .first()
      .click();
    const diff = page.getByRole("region", { name: "改动" });
    await diff.getByText("每日 16:00 前付款当日发货").waitFor();
    await diff.getByRole("columnheader", { name: "改前" }).waitFor();
  });
});

test("a freight rule with a region prices a shopper's quote", async () => {
  await panel(browser, shop, "/freight/new", async (page, api) => {
    await settled(page);
    await page.getByLabel("名称").fill("新疆");
    await page.getByLabel("首费（元）").fill("18");
    await page.getByText("新疆维吾尔自治区", { exact: true }).click();
    await page.getByRole("button", { name: "保存" }).click();
    await page.waitForURL(/\/admin\/freight$/);
    await page.getByRole("link", { name: "新疆" }).waitFor();
    await accessible(page);
    const ann = await shopper(shop, "ann");
    const to = {
      name: "安",
      phone: "13812345678",
      province: "新疆维吾尔自治区",
      city: "乌鲁木齐市",
      district: "天山区",
      detail: "人民路 1 号",
      is_default: false,
    };
    const address = await ann("POST", "/api/v1/addresses", to);
    const { merchant_id: merchant } = await api("GET", "/api/admin/v1/shop-settings");
    const { list } = await ann("GET", "/api/v1/products?limit=100");
    for (const { id } of list) {
      const product = await ann("GET", `/api/v1/products/${id}`);
      const sku = product.skus.find((s) => s.stock > 0);
      if (product.merchant_id !== merchant || !sku) continue;
      const quote = await ann("POST", "/api/v1/orders/quote", { items: [{ sku_id: sku.id, quantity: 1 }], address_id: address.id });
      if (quote.freight_fen === 0) continue; // virtual
      assert.equal(quote.freight_fen, 1800);
      return;
    }
    assert.fail("nothing of the shop is delivered");
  });
});

test("a template is set up", async () => {
  await panel(browser, shop, "/templates/no_such_event", async (page, api) => {
    await page.getByText("没有这个页面").waitFor();
    const { list } = await api("GET", "/api/admin/v1/subscribe-templates");
    const event = list[0].event;
    await page.goto(`${shop.url}/admin/templates/${event}`);
    await settled(page);
    await page.getByLabel("点开的页面").fill("pages/order/detail?no={order_no}&from=notice");
    if (!(await page.getByLabel("模板 ID").inputValue())) {
      await page.getByLabel("模板 ID").fill("4fO4mA1hKq2nGgV0m1yJ0a6bXr7c8d9eFgHiJkLmNoP");
      await page.getByLabel("字段名 1").fill("character_string1");
    }
    await page.getByRole("button", { name: "保存" }).click();
    await page.waitForURL(/\/admin\/templates$/);
    await accessible(page);
    const saved = (await api("GET", "/api/admin/v1/subscribe-templates")).list.find((one) => one.event === event);
    assert.equal(saved.page, "pages/order/detail?no={order_no}&from=notice");
  });
});

test("pictures", pictured, async () => {
  for (const [path, name] of [
    ["/shop-settings", "shop-settings"],
    ["/freight", "freight"],
    ["/freight/new", "freight-rule"],
    ["/templates", "templates"],
    ["/templates/order_paid", "template"],
    ["/subscribe-messages", "subscribe-messages"],
    ["/changes", "changes"],
  ])
    await gallery(browser, shop, path, name);
});

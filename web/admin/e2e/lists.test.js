// What every list can do: columns are hidden, rows are made low, both kept; the header stays; a phone has no standing columns.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, shopper, until } from "../../e2e/shop.js";
import { gallery, panel, settled } from "./panel.js";
import { place } from "./place.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const lists = [
  ["/orders", "应付"],
  ["/products", "库存"],
  ["/coupons", "状态"],
  ["/people/admins", "角色"],
  ["/freight", "配送地区"],
];

test("columns are hidden and rows made low, a list at a time, and both are kept", async () => {
  await place(await shopper(shop, "lists"));
  for (const [path, column] of lists)
    await panel(browser, shop, path, async (page) => {
      await settled(page);
      const head = page.getByRole("columnheader", { name: column, exact: true });
      await head.waitFor();
      const height = async () => (await page.locator("tbody tr").first().boundingBox()).height;
      const before = await height();
      await page.getByRole("button", { name: "显示的列" }).click();
      await page.getByRole("checkbox", { name: column, exact: true }).locator("..").click();
      await head.waitFor({ state: "detached" });
      await page.getByRole("checkbox", { name: "紧凑" }).locator("..").click();
      await until("the rows are low", async () => (await height()) < before);
      await page.reload();
      await settled(page);
      await page.locator(".el-table--small").first().waitFor();
      assert.equal(await head.count(), 0, `${path} shows ${column} again`);
    });
});

test("the header stays in sight; first and last column stand where there is room, none on a phone", async () => {
  await panel(browser, shop, "/products?limit=50", async (page) => {
    await settled(page);
    const head = page.getByRole("columnheader", { name: "商品", exact: true });
    const stands = async (name) =>
      (await page.getByRole("columnheader", { name, exact: true }).evaluate((cell) => getComputedStyle(cell).position)) === "sticky";
    await page.mouse.wheel(0, 600);
    await until("the page has scrolled", () => page.evaluate(() => window.scrollY > 300));
    assert.ok((await head.boundingBox()).y >= 52 - 1, "the header is out of sight");
    assert.deepEqual([await stands("商品"), await stands("库存"), await stands("状态")], [true, false, true]);
    await page.setViewportSize({ width: 390, height: 844 });
    await until("nothing stands", async () => !(await stands("商品")) && !(await stands("状态")));
  });
});

test("a platform admin reads the merchant's whole name on a phone", async () => {
  const boss = await admin(shop);
  const name = "浪花与海岸线生活方式旗舰店";
  await boss("POST", "/api/admin/v1/merchants", { name });
  const looked = { look: { size: "phone" } };
  await panel(
    browser,
    shop,
    "/",
    async (page) => {
      await page.getByRole("combobox", { name: "商家" }).click();
      await page.getByRole("option", { name }).click();
      const said = page.locator(".el-select__selected-item span", { hasText: name });
      await said.waitFor();
      assert.ok(await said.evaluate((e) => e.scrollWidth <= e.clientWidth && e.parentElement.scrollWidth <= e.parentElement.clientWidth));
    },
    looked,
  );
  await gallery(browser, shop, "/people/merchants", "many-merchants");
});

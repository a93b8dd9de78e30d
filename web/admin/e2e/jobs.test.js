// Files: an import tried and done, orders shipped by a file, orders written into one.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve } from "../../e2e/shop.js";
import { paid } from "./goods.js";
import { accessible, gallery, panel, pictured } from "./panel.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

/** Chooses a file of this text in the dialog that is open. */
function choose(dialog, name, lines) {
  return dialog.locator("input[type=file]").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });
}

/** Clicks what downloads, and returns the text of the file. */
async function downloaded(page, button) {
  const [saved] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFile(await saved.path(), "utf8");
}

test("500 products of which three are bad: a dry run, then the import", async () => {
  await panel(browser, shop, "/products", async (page, api) => {
    const { list: categories } = await api("GET", "/api/admin/v1/categories");
    const made = async () => (await api("GET", "/api/admin/v1/products?q=由文件导入&limit=1")).total;
    const price = (i) => ([3, 77, 499].includes(i) ? "免费" : "19.90");
    const lines = Array.from({ length: 500 }, (_, i) => `E2E-${i},由文件导入 ${i},${price(i)},5,#${categories[0].id}`);
    await page.getByRole("button", { name: "导入", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "导入商品" });
    await choose(dialog, "products.csv", ["商品编码,商品名称,价格,库存,分类", ...lines]);
    await dialog.getByRole("button", { name: "试运行" }).click();
    await dialog.getByText("试运行结果：497 个商品可导入，3 个有错误，不会导入。").waitFor();
    await dialog.getByText("3 行失败").waitFor();
    for (const line of [5, 79, 501]) await dialog.getByText(`第 ${line} 行“价格”`).waitFor();
    assert.equal(await dialog.getByRole("row").count(), 1 + 3);
    assert.equal(await made(), 0, "a dry run makes nothing");
    await accessible(page);

    await dialog.getByRole("button", { name: "确认导入" }).click();
    await dialog.getByRole("button", { name: "确认导入" }).waitFor({ state: "detached" });
    await dialog.getByText("已完成").waitFor();
    await dialog.getByText("第 501 行“价格”").waitFor();
    await dialog.getByText("全部结果").click();
    await dialog.getByText("新增，含 1 个规格").first().waitFor();
    assert.equal(await made(), 497);
  });
});

test("orders are shipped by a file; a line that names no order is told, and downloaded", async () => {
  const { me, order } = await paid(shop, "by-file");
  await panel(browser, shop, "/orders", async (page) => {
    await page.getByRole("button", { name: "批量发货" }).click();
    const dialog = page.getByRole("dialog", { name: "批量发货" });
    await choose(dialog, "parcels.csv", [
      "订单号,快递公司,运单号",
      `${order.no},ZTO,75312345678902`,
      "T20990101AAAAAAAAAAAA,ZTO,75312345678903",
    ]);
    await dialog.getByRole("button", { name: "开始发货" }).click();
    await dialog.getByText("本店没有这个订单号").waitFor();
    await dialog.getByText("1 行失败").waitFor();
    const text = await downloaded(page, dialog.getByRole("button", { name: "下载结果" }));
    assert.match(text, /T20990101AAAAAAAAAAAA,失败,not_found/);
    assert.match(text, new RegExp(order.no));
  });
  assert.equal((await me("GET", `/api/v1/orders/${order.no}`)).status, "shipped");
});

test("orders are written into a file as the list is filtered", async () => {
  const [one, other] = [await paid(shop, "is-exported"), await paid(shop, "is-left-out")];
  await panel(browser, shop, `/orders?q=${one.order.no}`, async (page) => {
    await page.getByRole("link", { name: one.order.no }).waitFor();
    await page.getByPlaceholder("订单号或手机尾号").fill(other.order.no); // not applied, so not what the list shows
    await page.getByRole("button", { name: "导出", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "导出订单" });
    await dialog.getByRole("button", { name: "开始导出" }).click();
    const text = await downloaded(page, dialog.getByRole("button", { name: "下载文件" }));
    assert.match(text, new RegExp(one.order.no));
    assert.doesNotMatch(text, new RegExp(other.order.no));
    assert.doesNotMatch(text, /13800138000/, "phones are masked");
  });
});

test("pictures", pictured, async () => {
  const { list } = await (await admin(shop))("GET", "/api/admin/v1/jobs");
  await gallery(browser, shop, "/jobs", "jobs");
  const tried = list.find((j) => j.dry_run);
  await gallery(browser, shop, `/jobs/${tried.id}`, "job");
  await panel(
    browser,
    shop,
    `/jobs/${tried.id}`,
    async (page) => {
      const reason = page.getByText(/第 5 行“价格”/);
      await reason.waitFor();
      const { x, width } = await reason.boundingBox();
      assert.ok(x >= 0 && x + width <= 390, `the reason ends at ${x + width}`);
      await reason.getByText("（price[5]）").waitFor();
    },
    { look: { size: "phone" } },
  );
});

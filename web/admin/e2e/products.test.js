// Products: the list and its shelf, the editor with its matrix and pictures, two admins at one product, stock and its ledger, categories.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, caller, serve } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser, api, category;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  api = await admin(shop);
  category = await api("POST", "/api/admin/v1/categories", { name: "测试分类", sort: 900_000 });
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const make = (name, more = {}) =>
  api("POST", "/api/admin/v1/products", { name, category_id: category.id, skus: [{ specs: {}, price_fen: 1990, stock: 7 }], ...more });

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGPgL8vDihiGlgQApWE8wfekj3cAAAAASUVORK5CYII=", "base64");

async function choose(page, label, option) {
  await page.getByRole("combobox", { name: label }).click();
  await page.getByRole("treeitem", { name: option }).click();
}

test("a product with a 3×2 matrix is in the shop", async () => {
  await panel(browser, shop, "/products/new", async (page) => {
    await page.getByRole("textbox", { name: "商品名" }).fill("矩阵衬衫");
    await choose(page, "分类", "测试分类");
    for (const [i, name, values] of [
      [1, "颜色", "白、黑、灰"],
      [2, "尺码", "M、L"],
    ]) {
      await page.getByRole("button", { name: "添加规格项" }).click();
      await page.getByRole("textbox", { name: `规格项 ${i}` }).fill(name);
      await page.getByRole("textbox", { name: `添加${name}的值` }).fill(values);
      await page.getByRole("textbox", { name: `添加${name}的值` }).press("Enter");
    }
    await page.getByRole("textbox", { name: "批量价格" }).fill("59");
    await page.getByRole("button", { name: "批量设置" }).click();
    // A column from a spreadsheet.
    const first = page.getByRole("textbox", { name: "库存 白 / M" });
    await first.focus();
    await first.evaluate((cell) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", "1\n2\n3\n4\n5\n6\n");
      cell.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    });
    // Enter goes down, Ctrl+D fills down.
    await page.getByRole("textbox", { name: "价格 灰 / M" }).fill("69.9");
    await page.keyboard.press("Control+d");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "价格 灰 / L");
    await page.getByText("¥59.00 – ¥69.90").waitFor();
    await page.getByText("保存后立即上架").click();
    await accessible(page);
    await page.getByRole("button", { name: "保存", exact: true }).click();
    await page.waitForURL(/\/products\/\d+$/);
    const id = Number(page.url().split("/").at(-1));
    await page.getByText("已售 0 件").waitFor();
    const seen = await caller(shop.url)("GET", `/api/v1/products/${id}`);
    assert.deepEqual(
      seen.skus.map((k) => [k.specs.颜色, k.specs.尺码, k.price_fen, k.stock]),
      [
        ["白", "M", 5900, 1],
        ["白", "L", 5900, 2],
        ["黑", "M", 5900, 3],
        ["黑", "L", 5900, 4],
        ["灰", "M", 6990, 5],
        ["灰", "L", 6990, 6],
      ],
    );
    // What goes is said before it goes, and leaving asks first.
    await page.getByRole("button", { name: "删除 灰" }).click();
    await page.getByText("以下 2 个规格不再出售，其 11 件库存保留").waitFor();
    await page.getByRole("link", { name: "‹ 返回" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "取消" }).click();
    const saved = page.waitForResponse((r) => r.request().method() === "PUT" && r.ok());
    await page.getByRole("button", { name: "保存", exact: true }).click();
    await saved;
    assert.equal((await api("GET", `/api/admin/v1/products/${id}`)).skus.length, 4);
  });
});

test("a product that could not be published at once is saved all the same, and once", async () => {
  const name = "没能上架的商品";
  await panel(
    browser,
    shop,
    "/products/new",
    async (page) => {
      await page.getByRole("textbox", { name: "商品名" }).fill(name);
      await choose(page, "分类", "测试分类");
      await page.getByText("保存后立即上架").click();
      await page.getByRole("button", { name: "添加规格项" }).click();
      await page.getByRole("textbox", { name: "规格项 1" }).fill("颜色");
      await page.getByRole("textbox", { name: "添加颜色的值" }).fill("白");
      await page.getByRole("textbox", { name: "添加颜色的值" }).press("Enter");
      await page.getByRole("checkbox", { name: "在售 白" }).click();
      await page.getByRole("button", { name: "保存", exact: true }).click();
      await page.getByText("上架的商品至少要有一个在售的规格。").waitFor();
      await page.getByRole("checkbox", { name: "在售 白" }).click();
      await page.getByRole("textbox", { name: "价格 白" }).fill("19.9");
      await page.route("**/publish*", (route) => route.abort("connectionreset"));
      await page.getByRole("button", { name: "保存", exact: true }).click();
      await page.getByText("连接不上服务器").waitFor();
      await page.waitForURL(/\/products\/\d+$/);
      await page.unroute("**/publish*");
      await page.getByRole("textbox", { name: "副标题" }).fill("再存一次");
      await page.getByRole("link", { name: "‹ 返回" }).click(); // still guarded
      await page.getByRole("dialog").getByRole("button", { name: "取消" }).click();
      await page.getByRole("button", { name: "保存", exact: true }).click();
      await page.getByRole("button", { name: "上架", exact: true }).click();
      await page.getByText("已上架").first().waitFor();
    },
    { expected: [/ERR_CONNECTION_RESET/] },
  );
  const { list } = await api("GET", `/api/admin/v1/products?q=${encodeURIComponent(name)}`);
  assert.deepEqual(
    list.map((p) => [p.name, p.subtitle, p.published]),
    [[name, "再存一次", true]],
  );
});

test("two admins at one product lose nothing of each other", async () => {
  const made = await make("两人同改");
  const change = { category_id: category.id, skus: made.skus.map(({ id, specs, price_fen }) => ({ id, specs, price_fen })), version: 1 };
  await panel(
    browser,
    shop,
    `/products/${made.id}`,
    async (page) => {
      await page.getByRole("textbox", { name: "商品名" }).fill("我的名字");
      await api("PUT", `/api/admin/v1/products/${made.id}`, { ...change, name: "别人的名字", subtitle: "别人的副标题" });
      await page.getByRole("button", { name: "保存", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "别人刚刚改过" });
      for (const text of ["两人同改", "别人的名字", "我的名字", "别人的副标题"]) await dialog.getByText(text, { exact: true }).waitFor();
      await accessible(page);
      await dialog.getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByText("已保存").first().waitFor();
      const kept = await api("GET", `/api/admin/v1/products/${made.id}`);
      assert.deepEqual([kept.name, kept.subtitle, kept.version], ["我的名字", "别人的副标题", 3]);

      await page.getByRole("textbox", { name: "商品名" }).fill("又改");
      await api("PUT", `/api/admin/v1/products/${made.id}`, { ...change, name: "最后的名字", version: 3 });
      await page.getByRole("button", { name: "保存", exact: true }).click();
      await dialog.getByRole("button", { name: "采用现在的" }).click();
      await page.getByRole("heading", { name: "最后的名字" }).waitFor();
      assert.equal((await api("GET", `/api/admin/v1/products/${made.id}`)).version, 4);
    },
    { expected: [/409/] },
  );
});

test("pictures are uploaded; what only calls itself one is refused", async () => {
  const made = await make("有图商品");
  await panel(
    browser,
    shop,
    `/products/${made.id}`,
    async (page) => {
      const input = page.locator("input[type=file][multiple]");
      await input.setInputFiles({ name: "a.png", mimeType: "image/png", buffer: png });
      await page.getByRole("img", { name: "图 1" }).waitFor();
      for (const [name, mimeType, text] of [
        ["bad.svg", "image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
        ["page.png", "image/png", "<!doctype html><script>alert(1)</script>"],
      ]) {
        await input.setInputFiles({ name, mimeType, buffer: Buffer.from(text) });
        await page.getByText(name, { exact: true }).waitFor();
        await page.getByRole("alert").getByText("不是可识别的图片").waitFor();
      }
      assert.equal(await page.getByRole("img", { name: /^图 \d/ }).count(), 1);
      await page.getByRole("button", { name: "保存", exact: true }).click();
      await page.getByText("已保存").first().waitFor();
      const { images } = await api("GET", `/api/admin/v1/products/${made.id}`);
      assert.equal(images.length, 1);
      const served = await fetch(images[0].url);
      assert.deepEqual([served.headers.get("content-type"), served.headers.get("x-content-type-options")], ["image/jpeg", "nosniff"]);
    },
    { expected: [/422/] },
  );
});

test("stock is adjusted with a reason and stands in the ledger", async () => {
  const made = await make("调库存");
  await panel(browser, shop, `/products/${made.id}`, async (page) => {
    await page.getByRole("button", { name: /^调整/ }).click();
    const dialog = page.getByRole("dialog", { name: "调整库存" });
    await dialog.getByText("减少").click();
    await dialog.getByRole("spinbutton", { name: "件数" }).fill("9");
    await dialog.getByText("库存不能小于 0。").waitFor();
    await dialog.getByRole("spinbutton", { name: "件数" }).fill("3");
    await dialog.getByRole("button", { name: "盘点" }).click();
    await dialog.getByText("调整后 4 件").waitFor();
    await accessible(page);
    await dialog.getByRole("button", { name: "调整", exact: true }).click();
    await page.getByText("库存已调整").waitFor();
    await page.getByRole("button", { name: /^流水/ }).click();
    await page.getByRole("heading", { name: "库存流水" }).waitFor();
    const rows = page.locator("tbody tr");
    await rows.filter({ hasText: "盘点" }).getByText("−3").waitFor();
    await rows.filter({ hasText: "初始" }).getByText("+7").waitFor();
    await accessible(page);
  });
  assert.equal((await api("GET", `/api/admin/v1/products/${made.id}`)).skus[0].stock, 4);
});

test("many go on the shelf at once, and the list says which did not", async () => {
  const [one, bare] = [await make("批量甲"), await make("批量乙", { skus: [] })];
  await panel(browser, shop, "/products?q=批量", async (page) => {
    await settled(page);
    await page.locator("thead .el-checkbox").first().click();
    await page.getByText("已选 2 项").waitFor();
    await page.getByRole("toolbar").getByRole("button", { name: "上架" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "上架" }).click();
    await page.getByText("没有规格，不能上架").waitFor();
    await page.getByText("已上架 1 个商品").waitFor();
    await page.getByRole("button", { name: "已下架" }).click();
    await page.waitForURL(/tab=unpublished/);
    await page.getByRole("link", { name: "批量甲" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "批量乙" }).first().waitFor();
  });
  assert.deepEqual(await Promise.all([one, bare].map(async ({ id }) => (await api("GET", `/api/admin/v1/products/${id}`)).published)), [
    true,
    false,
  ]);
});

test("categories are added, renamed, moved and deleted", async () => {
  await panel(browser, shop, "/categories", async (page) => {
    const dialog = page.getByRole("dialog");
    const add = async (button, name) => {
      await page.getByRole("button", { name: button, exact: true }).click();
      await dialog.getByRole("textbox", { name: "分类名" }).fill(name);
      await dialog.getByRole("button", { name: "保存" }).click();
      await page.getByRole("treeitem", { name: new RegExp(`^${name}`) }).waitFor();
    };
    await add("在“测试分类”下新建", "下一");
    await add("在“测试分类”下新建", "下二");
    await page.getByRole("button", { name: "重命名“下二”" }).click();
    await dialog.getByRole("textbox", { name: "分类名" }).fill("下贰");
    await dialog.getByRole("button", { name: "保存" }).click();
    await page.getByRole("button", { name: "上移“下贰”" }).click();
    await page.locator('button[aria-label="上移“下贰”"][disabled]').waitFor();
    const below = async () =>
      (await api("GET", "/api/admin/v1/categories")).list.find((c) => c.id === category.id).children.map((c) => c.name);
    assert.deepEqual(await below(), ["下贰", "下一"]);
    await accessible(page);
    await page.getByRole("button", { name: "删除“测试分类”" }).click();
    await page.getByText(/下还有 2 个下级分类/).waitFor();
    await dialog.getByRole("button", { name: "取消" }).click();
    await page.getByRole("button", { name: "删除“下一”" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "删除" }).click();
    await page.getByRole("treeitem", { name: /^下一/ }).waitFor({ state: "detached" });
    assert.deepEqual(await below(), ["下贰"]);
  });
});

test("two admins at one sorting number, and at one category", async () => {
  const made = await make("两人同排");
  await panel(
    browser,
    shop,
    "/products?q=两人同排",
    async (page) => {
      const dialog = page.getByRole("dialog", { name: "别人刚刚改过" });
      const set = async (number) => {
        await page.getByRole("button", { name: /^排序号/ }).click();
        await page.getByRole("textbox", { name: "排序号 两人同排" }).fill(String(number));
        await page.getByRole("textbox", { name: "排序号 两人同排" }).press("Enter");
      };
      await settled(page);
      await api("PUT", `/api/admin/v1/products/${made.id}/sort`, { sort: 41, version: 1 });
      await set(42);
      for (const text of ["0", "41", "42"]) await dialog.getByRole("cell", { name: text, exact: true }).waitFor();
      await accessible(page);
      await dialog.getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByText("已保存").first().waitFor();
      assert.equal((await api("GET", `/api/admin/v1/products/${made.id}`)).sort, 42);

      await api("PUT", `/api/admin/v1/products/${made.id}/sort`, { sort: 43, version: 3 });
      await set(44);
      await dialog.getByRole("button", { name: "采用现在的" }).click();
      await page.getByRole("button", { name: /^排序号 43/ }).waitFor();
      assert.equal((await api("GET", `/api/admin/v1/products/${made.id}`)).sort, 43);
    },
    { expected: [/409/] },
  );

  const mine = await api("POST", "/api/admin/v1/categories", { name: "两人同类", sort: -900_000 });
  const named = async () => (await api("GET", "/api/admin/v1/categories")).list.find((c) => c.id === mine.id).name;
  await panel(
    browser,
    shop,
    "/categories",
    async (page) => {
      const dialog = page.getByRole("dialog", { name: "别人刚刚改过" });
      const rename = async (from, to) => {
        await page.getByRole("button", { name: `重命名“${from}”` }).click();
        await page.getByRole("textbox", { name: "分类名" }).fill(to);
        await page.getByRole("dialog", { name: "重命名分类" }).getByRole("button", { name: "保存" }).click();
      };
      await settled(page);
      await api("PUT", `/api/admin/v1/categories/${mine.id}`, { name: "别人的叫法", sort: mine.sort, version: mine.version });
      await rename("两人同类", "我的叫法");
      for (const text of ["两人同类", "别人的叫法", "我的叫法"]) await dialog.getByRole("cell", { name: text, exact: true }).waitFor();
      await accessible(page);
      await dialog.getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByRole("button", { name: "重命名“我的叫法”" }).waitFor();
      assert.equal(await named(), "我的叫法");

      await api("PUT", `/api/admin/v1/categories/${mine.id}`, { name: "最后的叫法", sort: mine.sort, version: mine.version + 2 });
      await page.getByRole("button", { name: "上移“我的叫法”" }).click();
      await dialog.getByRole("button", { name: "采用现在的" }).click();
      await page.getByRole("button", { name: "上移“最后的叫法”" }).waitFor();
      assert.equal(await named(), "最后的叫法");
    },
    { expected: [/409/] },
  );
});

test("pictures of the pages", pictured, async () => {
  const { list } = await api("GET", "/api/admin/v1/products?limit=50");
  const rich = list.find((p) => p.skus.length > 3 && p.images.length > 0);
  await gallery(browser, shop, "/products", "products");
  await gallery(browser, shop, "/products/new", "product-new");
  await gallery(browser, shop, `/products/${rich.id}`, "product");
  await gallery(browser, shop, `/products/${rich.id}/skus/${rich.skus[0].id}`, "ledger");
  await gallery(browser, shop, "/categories", "categories");
});

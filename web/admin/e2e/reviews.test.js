// Reviews: one is answered and hidden; what WeChat doubts is held until a person decides.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, until } from "../../e2e/shop.js";
import { received } from "./goods.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser, api;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  api = await admin(shop);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

async function reviewed(name, content) {
  const { me, order } = await received(shop, api, name);
  await me("POST", `/api/v1/orders/${order.no}/reviews`, { line_id: order.lines[0].id, rating: 4, content });
  const product = order.lines[0].product_id;
  const shown = async () => (await me("GET", `/api/v1/products/${product}/reviews?limit=100`)).list.find((r) => r.content === content);
  return { me, order, shown };
}

test("a review is answered, hidden and shown again", async () => {
  const { shown } = await reviewed("likes-it", "颜色很正，孩子喜欢");
  await panel(browser, shop, "/reviews", async (page) => {
    const card = page.getByRole("article").filter({ hasText: "颜色很正，孩子喜欢" });
    await card.waitFor();
    await accessible(page);
    await card.getByRole("button", { name: "回复" }).click();
    await page.getByRole("dialog").getByLabel("商家回复").fill("谢谢，欢迎再来");
    await page.getByRole("dialog").getByRole("button", { name: "发布回复" }).click();
    await card.getByText("谢谢，欢迎再来").waitFor();
    assert.equal((await shown()).answer.text, "谢谢，欢迎再来");

    await card.getByRole("button", { name: "隐藏" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "隐藏" }).click();
    await card.getByText("已隐藏", { exact: true }).waitFor();
    assert.equal(await shown(), undefined);
    await card.getByRole("button", { name: "恢复展示" }).click();
    await card.getByText("已展示", { exact: true }).waitFor();
    assert.ok(await shown());
  });
});

test("reviews are narrowed, and the address says how", async () => {
  await panel(browser, shop, "/reviews?rating=5&pictures=true", async (page) => {
    await page.getByRole("article").first().waitFor();
    for (const card of await page.getByRole("article").all()) {
      assert.equal(await card.getByRole("img", { name: "5 星" }).count(), 1);
      assert.ok((await card.getByRole("img", { name: /评价图片/ }).count()) > 0);
    }
    await page.getByRole("button", { name: "已隐藏" }).click();
    await page.waitForURL(/status=hidden/);
    await page.getByText("没有评价").waitFor();
    await page.getByRole("button", { name: "清除筛选" }).first().click();
    await page.getByRole("article").first().waitFor();
  });
});

test("what is held is decided by a person", async () => {
  const good = await reviewed("is-held", "可疑但是无害的一句话");
  const bad = await reviewed("is-kept-back", "可疑而且多余的一句话");
  await until("both are held", async () => (await api("GET", "/api/admin/v1/content-holds?kind=review")).total === 2);
  await panel(browser, shop, "/content-holds", async (page) => {
    const row = (text) => page.getByRole("listitem").filter({ hasText: text });
    await row("可疑但是无害的一句话").waitFor();
    await accessible(page);
    assert.equal(await good.shown(), undefined);
    await row("可疑但是无害的一句话").getByRole("button", { name: "通过" }).click();
    await row("可疑但是无害的一句话").waitFor({ state: "detached" });
    assert.ok(await good.shown());
    await row("可疑而且多余的一句话").getByRole("button", { name: "拒绝" }).click();
    await page.getByRole("dialog").getByText("整条评价被拒绝").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "拒绝" }).click();
    await row("可疑而且多余的一句话").waitFor({ state: "detached" });
    assert.equal(await bad.shown(), undefined);
    await page.getByRole("button", { name: "已拒绝" }).click();
    await row("可疑而且多余的一句话").waitFor();
  });
});

test("pictures", pictured, async () => {
  await reviewed("is-seen-held", "可疑的一句话，等着人来看");
  await gallery(browser, shop, "/reviews", "reviews");
  await gallery(browser, shop, "/content-holds", "content-holds", (page) => settled(page));
});

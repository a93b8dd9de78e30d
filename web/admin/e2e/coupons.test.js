// Coupons: one is made, seen in the shop, claimed, stopped; two admins change one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, shopper } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

test("a coupon is made, claimed in the shop, and stopped", async () => {
  await panel(browser, shop, "/coupons", async (page) => {
    await page.getByRole("button", { name: "新建优惠券" }).click();
    await page.getByRole("button", { name: "创建" }).click();
    await page.getByText("请填写金额").waitFor();
    await page.getByLabel("名称").fill("周末满减");
    await page.getByLabel("减多少（元）").fill("10");
    await page.getByLabel("使用门槛（元）").fill("100");
    await page.getByLabel("发放总量（张）").fill("50");
    await page.getByLabel("每人限领（张）").fill("2");
    await page.getByLabel("领取后有效天数").fill("7");
    await page.getByLabel("领取后有效天数").blur();
    await page.getByText("满 ¥100.00 减 ¥10.00，全场可用，每人限领 2 张，领取后 7 天有效").waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "创建" }).click();
    await page.waitForURL(/\/coupons\/\d+$/);
    await page.getByText("发放中", { exact: true }).waitFor();

    const me = await shopper(shop, "coupon-lover");
    const offer = (await me("GET", "/api/v1/coupons?limit=100")).list.find((c) => c.name === "周末满减");
    assert.equal(offer.amount_fen, 1000);
    assert.equal(offer.threshold_fen, 10000);
    await me("POST", `/api/v1/coupons/${offer.id}/claim`);
    await page.reload();
    await page.getByText("已发放 1 / 50").waitFor();
    await page.getByRole("img", { name: /可用 1/ }).waitFor();

    await page.getByRole("button", { name: "停止发放" }).click();
    await page.getByRole("dialog").getByText("已领取的 1 张不受影响").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "停止发放" }).click();
    await page.getByRole("button", { name: "恢复发放" }).waitFor();
    assert.ok(!(await me("GET", "/api/v1/coupons?limit=100")).list.some((c) => c.id === offer.id));

    await page.getByRole("link", { name: /返回/ }).click();
    await page.getByRole("button", { name: "已停止发放" }).click();
    await page.waitForURL(/status=stopped/);
    await page.getByRole("link", { name: "周末满减" }).waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
  });
});

test("whoever saves second is shown what the first has changed", async () => {
  const api = await admin(shop);
  const { list } = await api("GET", "/api/admin/v1/coupons");
  const id = list.find((c) => c.scope === "category").id;
  await panel(
    browser,
    shop,
    `/coupons/${id}`,
    async (page) => {
      await settled(page);
      const { scoped, ...now } = await api("GET", `/api/admin/v1/coupons/${id}`);
      await page.getByTestId("rule").getByText(`限“${scoped[0].name}”分类可用`).waitFor();
      const terms = [
        "name",
        "kind",
        "amount_fen",
        "percent_off",
        "max_discount_fen",
        "threshold_fen",
        "scope",
        "scope_ids",
        "total",
        "per_shopper",
        "starts_at",
        "ends_at",
        "valid_days",
        "version",
      ];
      const body = Object.fromEntries(terms.filter((k) => now[k] !== undefined).map((k) => [k, now[k]]));
      await api("PUT", `/api/admin/v1/coupons/${id}`, { ...body, name: "第一个人改的" });
      await page.getByLabel("名称").fill("第二个人改的");
      await page.getByRole("button", { name: "保存" }).click();
      await page.getByRole("dialog").getByText("第一个人改的").waitFor();
      await page.getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByText("已保存").waitFor();
      const { version, name } = await api("GET", `/api/admin/v1/coupons/${id}`);
      assert.equal(name, "第二个人改的");

      // Stopping it all the same takes nothing over: what is being typed meets the other's change when it is saved.
      await api("PUT", `/api/admin/v1/coupons/${id}`, { ...body, version, name: "第一个人又改的" });
      await page.getByLabel("名称").fill("没有保存的");
      await page.getByRole("button", { name: "停止发放" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "停止发放" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "仍要停止发放" }).click();
      await page.getByRole("button", { name: "恢复发放" }).waitFor();
      await page.getByRole("button", { name: "保存" }).click();
      await page.getByRole("dialog").getByRole("cell", { name: "第一个人又改的" }).waitFor();
      await page.getByRole("button", { name: "采用现在的" }).click();
      await page.getByRole("heading", { name: /第一个人又改的/ }).waitFor();
      assert.equal(await page.getByLabel("名称").inputValue(), "第一个人又改的");
    },
    { expected: [/409/] },
  );
});

test("pictures", pictured, async () => {
  const api = await admin(shop);
  const { list } = await api("GET", "/api/admin/v1/coupons");
  await gallery(browser, shop, "/coupons", "coupons");
  await gallery(browser, shop, "/coupons/new", "coupon-new");
  await gallery(browser, shop, `/coupons/${list.find((c) => c.scope === "category").id}`, "coupon");
});

// Timeout policies: a change with its preview, rolled back; re-timing with the number of orders; two people at one policy.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, shopper, until } from "../../e2e/shop.js";
import { accessible, gallery, panel, settled } from "./panel.js";
import { place } from "./place.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const policies = "/api/admin/v1/timeout-policies";
const payPolicy = async (api) => (await api("GET", `${policies}?limit=100`)).list.find((p) => p.stage === "pay" && !p.merchant_id);

async function setDuration(page, n, unit) {
  await page.getByRole("spinbutton", { name: "时长" }).fill(String(n));
  await page.keyboard.press("Tab");
  // What is chosen now lies over the box, and takes the click as the box would.
  await page.getByRole("combobox", { name: "单位" }).click({ force: true });
  await page.getByRole("option", { name: unit, exact: true }).click();
}

test("the pay policy of 3 s closes an order; rolled back, orders wait as before", async () => {
  const buyer = await shopper(shop, "quick");
  await (
    await admin(shop)
  )("POST", policies, { stage: "pay", duration_ms: 1_500_000 });
  await place(await shopper(shop, "first"));
  await panel(browser, shop, "/policies", async (page, api) => {
    const before = await payPolicy(api);
    await page
      .getByRole("link", { name: /^全部商家/ })
      .first()
      .click();
    await page.getByText(/^适用于.+ 100% 的订单$/).waitFor();
    await setDuration(page, 3, "秒");
    await page.getByText("3 秒（此策略）").first().waitFor();
    await settled(page);
    await accessible(page);
    await page.getByRole("button", { name: "保存", exact: true }).click();
    await page.getByText("已保存").waitFor();
    await until("the change is live", async () => (await payPolicy(api)).duration_ms === 3000);

    const order = await place(buyer);
    const seconds = (new Date(order.pay_deadline) - new Date(order.created_at)) / 1000;
    assert.equal(Math.round(seconds), 3);
    await until("the order is closed", async () => (await buyer("GET", `/api/v1/orders/${order.no}`)).status === "closed");

    await page.getByRole("button", { name: `回滚到此版本 ${before.version}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "回滚到此版本" }).click();
    await page.getByText(`已回滚到版本 ${before.version}`).waitFor();
    await page.getByText(`版本 ${before.version + 2} · 回滚到版本 ${before.version}`).waitFor();
    assert.equal((await payPolicy(api)).duration_ms, before.duration_ms);
    const later = await place(buyer);
    assert.equal(Math.round(new Date(later.pay_deadline) - new Date(later.created_at)), before.duration_ms);
  });
});

test("orders that wait are re-timed by a job, their number said before", async () => {
  const buyer = await shopper(shop, "waiting");
  const orders = [await place(buyer), await place(buyer), await place(buyer)];
  const api = await admin(shop);
  const own = await api("POST", policies, { stage: "pay", merchant_id: 1, duration_ms: 7_200_000 });
  const { retimes } = await api("POST", `${policies}/preview`, { id: own.id });
  assert.ok(retimes >= 3, `${retimes} orders to re-time`);
  await panel(browser, shop, `/policies/${own.id}`, async (page) => {
    const verb = `重算 ${retimes} 个订单`;
    await page.getByRole("button", { name: verb }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`将改动 ${retimes} 个等待付款的订单`).waitFor();
    await dialog.getByRole("button", { name: verb }).click();
    await page.getByText(`已处理 ${retimes} / ${retimes}`).waitFor();
    await page.getByText("没有需要重算的订单").waitFor();
    const row = page.getByRole("row").filter({ hasText: orders[0].no });
    await row.getByText("成功").waitFor();
    await row.getByText(/^付款截止 .+ → .+$/).waitFor();
    await settled(page);
    await accessible(page);
  });
  for (const { no } of orders) {
    const now = await buyer("GET", `/api/v1/orders/${no}`);
    assert.equal(new Date(now.pay_deadline) - new Date(now.created_at), 7_200_000);
  }
  const [job] = (await api("GET", `${policies}/${own.id}/retime`)).list;
  await panel(browser, shop, "/jobs?kind=retime", async (page) => {
    await page.getByRole("link", { name: String(job.id), exact: true }).click();
    await page.waitForURL(new RegExp(`/jobs/${job.id}$`));
    await page.getByText(`重算截止时间 · 策略 ${own.id} · admin`).waitFor();
    await page.getByRole("link", { name: `策略 ${own.id}` }).click();
    await page.waitForURL(new RegExp(`/policies/${own.id}$`));
  });
  await gallery(browser, shop, "/policies", "policies");
  await gallery(browser, shop, `/policies/${own.id}`, "policy");
  await gallery(browser, shop, "/policies/new", "policy-new");
  await gallery(browser, shop, `/jobs/${job.id}`, "job-retime");
  await api("DELETE", `${policies}/${own.id}?version=${own.version}`);
});

test("a new policy shows what it applies to, and a stale save what was changed", async () => {
  await panel(
    browser,
    shop,
    "/policies/new",
    async (page, api) => {
      await page.getByRole("spinbutton", { name: "灰度比例（%）" }).fill("12");
      await page.keyboard.press("Tab");
      await page.getByText("12% 30 分（此策略）").first().waitFor();
      await page.getByRole("button", { name: "创建策略" }).click();
      await page.waitForURL(/\/policies\/\d+$/);
      const id = Number(new URL(page.url()).pathname.split("/").at(-1));
      await page.getByText("版本 1 · 创建").waitFor();
      await api("PUT", `${policies}/${id}`, { rollout_percent: 40, version: 1 });
      await setDuration(page, 5, "分钟");
      await page.getByRole("button", { name: "保存", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "别人刚刚改过" });
      await dialog.getByText("40%").waitFor();
      await accessible(page);
      await dialog.getByRole("button", { name: "采用现在的" }).click();
      await page.getByText("版本 2 · 修改").waitFor();
      assert.equal(await page.getByRole("spinbutton", { name: "灰度比例（%）" }).inputValue(), "40");
      // What came too late is what is done all the same, not a save of what the form has.
      await api("PUT", `${policies}/${id}`, { rollout_percent: 50, version: 2 });
      await page.getByRole("button", { name: "回滚到此版本 1" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "回滚到此版本" }).click();
      await dialog.getByRole("button", { name: "仍要回滚到此版本 1" }).click();
      await page.getByText("版本 4 · 回滚到版本 1").waitFor();
      await api("PUT", `${policies}/${id}`, { rollout_percent: 60, version: 4 });
      await page.getByRole("button", { name: "删除策略" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "删除策略" }).click();
      await dialog.getByRole("button", { name: "仍要删除策略" }).click();
      await page.waitForURL(/\/policies$/);
    },
    { expected: [/409/] },
  );
});

// What a merchant does with orders: find one, ship it, change its price, close it, refund it, print its slip.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { buy, caller, serve, shopper, until } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser, ann, anns;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  ann = await shopper(shop, "orders-ann");
  anns = { paid: await paid(), second: await paid(), unpaid: await buy(ann), closing: await buy(ann) };
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

async function paid() {
  const bought = await buy(ann);
  await caller(shop.sandbox)("POST", "/sandbox/pay", { prepay_id: bought.prepay, result: "SUCCESS", notify: { times: 1, delay_ms: 0 } });
  await until("the order is paid", async () => (await ann("GET", `/api/v1/orders/${bought.order.no}`)).status === "paid");
  return bought;
}

test("an order is found and opened", async () => {
  const { no } = anns.paid.order;
  await panel(browser, shop, "/orders", async (page) => {
    await page.getByRole("button", { name: "待付款", exact: true }).click();
    await page.getByRole("link", { name: anns.unpaid.order.no }).waitFor();
    await page.getByRole("link", { name: no }).waitFor({ state: "detached" }); // a paid order is not among the unpaid ones
    await page.getByRole("button", { name: "全部", exact: true }).click();
    await page.getByPlaceholder("订单号或手机尾号").fill(no);
    await page.getByRole("button", { name: "筛选", exact: true }).click();
    await page.waitForURL(new RegExp(`q=${no}`));
    await until("one order is left", async () => (await page.locator(".el-table__body .copy").count()) === 1);
    await page.getByRole("link", { name: no }).click();
    await page.getByText("还有 1 件待发货").waitFor();
    await page.goBack();
    await page.waitForURL(new RegExp(`q=${no}`));
  });
  await panel(browser, shop, "/orders?nickname=nobody&min=0.01", async (page) => {
    await page.getByText("没有订单").waitFor();
    await page.getByRole("button", { name: "清除筛选" }).first().click();
    await page.getByRole("link", { name: no }).waitFor();
    await page.getByRole("button", { name: "更多筛选" }).click();
    const least = page.getByRole("textbox", { name: "应付不低于（元）" });
    await least.fill("100元");
    await page.getByRole("button", { name: "收起筛选" }).click();
    await page.getByRole("button", { name: "筛选", exact: true }).click();
    await page.getByText("请填写金额，最多两位小数").waitFor();
    assert.equal(await least.getAttribute("aria-invalid"), "true");
    await accessible(page);
    assert.equal(new URL(page.url()).search, "");
    await least.fill("100000");
    await page.getByRole("button", { name: "筛选", exact: true }).click();
    await page.getByText("没有订单").waitFor();
  });
});

test("orders are found by the tail of the receiver's phone", async () => {
  const { no } = anns.unpaid.order;
  await panel(browser, shop, "/", async (page) => {
    await settled(page);
    await page.keyboard.press("/");
    await page.getByPlaceholder("订单号、手机尾号或商品").fill("8000");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: no }).waitFor();
    await page.getByRole("link", { name: "查看全部" }).click();
    await page.waitForURL(/orders\?q=8000/);
    await page.getByRole("link", { name: no }).waitFor();
    await page.getByPlaceholder("订单号或手机尾号").fill("8001");
    await page.getByRole("button", { name: "筛选", exact: true }).click();
    await page.getByText("没有订单").waitFor();
    // Longer than what orders are searched by: only products are.
    for (const length of [60, 64]) {
      await page.goto(`${shop.url}/admin/search?q=${"x".repeat(length)}`);
      await page.getByText("没有找到。").waitFor();
    }
  });
});

test("an order is shipped, and its timeline tells", async () => {
  const { no } = anns.paid.order;
  await panel(browser, shop, `/orders/${no}`, async (page, api) => {
    await page.getByRole("button", { name: "发货", exact: true }).click();
    await page.getByRole("combobox", { name: "快递公司 1" }).click();
    await page.getByRole("option", { name: "顺丰", exact: false }).first().click();
    await page.getByRole("textbox", { name: "运单号 1" }).fill("SF1234567890");
    await page.getByRole("button", { name: "确认发货" }).click();
    const story = page.locator(".detail ol");
    await story.getByText("订单已发货").waitFor();
    const said = (await story.locator(".title").allTextContents()).filter((s) => !s.startsWith("消息") && !s.startsWith("订阅"));
    for (const what of ["订单已发货", "收到支付", "打开支付", "提交订单"])
      assert.ok(
        said.some((s) => s.startsWith(what)),
        `${what}: ${said}`,
      );
    assert.ok(said.indexOf("订单已发货") < said.indexOf("提交订单"), "the newest is not first");
    assert.equal((await api("GET", `/api/admin/v1/orders/${no}`)).status, "shipped");
  });
});

test("the price of an order is changed, also over somebody else's change", async () => {
  const { no } = anns.unpaid.order;
  await panel(
    browser,
    shop,
    `/orders/${no}`,
    async (page, api) => {
      await page.getByRole("button", { name: "改价" }).click();
      const box = page.getByRole("textbox", { name: "新的应付（元）" });
      await box.fill("12.34");
      const now = await api("GET", `/api/admin/v1/orders/${no}`);
      await api("POST", `/api/admin/v1/orders/${no}/price`, { adjust_fen: -1, version: now.version });
      await page.getByRole("dialog").getByRole("button", { name: "改价" }).click();
      await page.getByText("别人刚刚改过").waitFor();
      await page.getByRole("button", { name: "用我的覆盖" }).click();
      await page.locator(".summary").getByText("¥12.34").waitFor();
      await page.locator(".detail ol").getByText("¥12.34", { exact: false }).first().waitFor();
      assert.equal((await api("GET", `/api/admin/v1/orders/${no}`)).payable_fen, 1234);
    },
    { expected: [/409/] },
  );
});

test("an order is noted on and closed", async () => {
  const { no } = anns.closing.order;
  await panel(browser, shop, `/orders/${no}`, async (page) => {
    await page.getByRole("textbox", { name: "商家备注" }).fill("先打电话");
    await page.getByRole("button", { name: "保存备注" }).click();
    await page.locator(".detail ol").getByText("先打电话").waitFor();
    await page.getByRole("button", { name: "关闭订单" }).click();
    await page.getByText("将释放 1 件库存").waitFor();
    await page.locator(".el-message-box").getByRole("button", { name: "关闭订单" }).click();
    await page.locator(".detail ol").getByText("订单已关闭").waitFor();
    await page.getByText("原因：商家关闭").waitFor();
  });
});

test("an order is refunded", async () => {
  const { no } = anns.second.order;
  await panel(browser, shop, `/orders/${no}`, async (page, api) => {
    await page.getByRole("button", { name: "退款", exact: true }).click();
    await page.getByRole("textbox", { name: "退款原因" }).fill("缺货");
    await page.getByRole("button", { name: "确认退款" }).click();
    await page.locator(".detail ol").getByText("发起退款").waitFor();
    await until("the money is back", async () => (await api("GET", `/api/admin/v1/orders/${no}`)).refunds[0].status === "success");
  });
});

test("a packing slip is printed", async () => {
  const { no } = anns.paid.order;
  await panel(browser, shop, `/orders/${no}`, async (page) => {
    await page.getByRole("link", { name: "打印装箱单" }).click();
    await page.locator("article").getByText(no).waitFor();
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.getByRole("button", { name: "打印" }).isVisible(), false, "the button is printed");
    assert.equal(await page.locator("aside").first().isVisible(), false, "the menu is printed");
    assert.ok(await page.locator("article").getByText("张三").isVisible());
    assert.equal(await page.locator("article").getByText("¥").count(), 0, "a price is printed");
    await page.emulateMedia({ media: "screen" });
    await settled(page);
    await accessible(page);
    await page.goto(`${shop.url}/admin/orders/slips?nos=${Array(101).fill(no).join(",")}`);
    await page.getByText("一次最多 100 项").waitFor();
    assert.equal(await page.locator("article").count(), 0, "some of them are printed");
    assert.ok(await page.getByRole("button", { name: "打印" }).isDisabled());
  });
});

test("the pages look right", pictured, async () => {
  const { no } = anns.paid.order;
  await gallery(browser, shop, "/orders", "orders", (page) => page.getByRole("link", { name: no }).waitFor());
  await gallery(browser, shop, `/orders/${no}`, "order", (page) => page.locator(".detail ol").waitFor());
  await gallery(browser, shop, `/orders/${no}/slip`, "order-slip", (page) => page.locator("article").waitFor());
});

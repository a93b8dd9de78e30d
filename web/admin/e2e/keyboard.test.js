// The panel without a mouse: from the login to a closed order.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, serve, shopper } from "../../e2e/shop.js";
import { panel, settled } from "./panel.js";
import { place } from "./place.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

/** What has the focus, by the name it is read out with, and whether that can be seen. */
const focused = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    if (at === document.body) return { name: "", seen: true }; // between the end of the page and its beginning
    const box = at.closest(".el-input__wrapper, .el-select__wrapper") ?? at;
    const { outlineStyle, boxShadow } = getComputedStyle(box);
    return {
      name: (at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent).trim(),
      seen: outlineStyle !== "none" || boxShadow !== "none",
    };
  });

/** Tabs on until what is called `name` has the focus, which must be seen at every stop. */
async function tabTo(page, name) {
  const passed = [];
  for (let i = 0; i < 100; i++) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    passed.push(at.name);
    assert.ok(at.seen, `the focus on ${at.name} is not seen`);
    if (typeof name === "string" ? at.name === name : name.test(at.name)) return;
  }
  assert.fail(`Tab does not reach ${name}: ${passed.join(" | ")}`);
}

test("log in, open the first order of the list, close it", async () => {
  const { no } = await place(await shopper(shop, "keys"));
  await panel(
    browser,
    shop,
    "/login",
    async (page) => {
      await settled(page);
      await tabTo(page, "用户名");
      await page.keyboard.type("admin");
      await tabTo(page, "密码");
      await page.keyboard.type("pass-for-browser-tests");
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "概览" }).waitFor();
      await settled(page);

      await page.keyboard.press("/");
      assert.equal((await focused(page)).name, "搜索");
      await page.keyboard.press("Escape");
      await page.reload(); // the focus is at the top of the page again
      await settled(page);
      await tabTo(page, "订单");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/orders$/);
      await page.getByRole("link", { name: no }).waitFor();
      await tabTo(page, no);
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(no));
      await page.locator(".detail ol").waitFor();

      await tabTo(page, "改价");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      assert.equal((await focused(page)).name, "改价", "the focus does not come back");

      await tabTo(page, "关闭订单");
      await page.keyboard.press("Enter");
      await page.getByText("将释放 1 件库存").waitFor();
      await tabTo(page, "关闭订单");
      await page.keyboard.press("Enter");
      await page.locator(".detail ol").getByText("订单已关闭").waitFor();
    },
    { token: "" },
  );
  assert.equal((await (await admin(shop))("GET", `/api/admin/v1/orders/${no}`)).status, "closed");
});

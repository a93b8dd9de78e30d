// Logging in and out, the menu, the language, the theme, pages that do not exist.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { caller, serve } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

test("whoever is not logged in comes to the page they wanted after the login", async () => {
  await panel(
    browser,
    shop,
    "/no-such-page?a=1",
    async (page) => {
      await page.waitForURL(/\/admin\/login\?next=/);
      await accessible(page);
      await page.getByLabel("用户名").fill("admin");
      await page.getByLabel("密码", { exact: true }).fill("pass-for-browser-tests");
      await page.getByRole("button", { name: "登录", exact: true }).click();
      await page.waitForURL(/\/admin\/no-such-page\?a=1$/);
      await page.getByText("没有这个页面").waitFor();
      await page.getByRole("button", { name: "账号" }).click();
      await page.getByRole("menuitem", { name: "退出登录" }).click();
      await page.waitForURL(/\/admin\/login/);
    },
    { token: "" },
  );
});

test("what is unsaved is asked about before another shop, before logging out, and not where the session has ended", async () => {
  const { token } = await caller(shop.url)("POST", "/api/admin/v1/auth/login", { username: "admin", password: "pass-for-browser-tests" });
  await panel(
    browser,
    shop,
    "/shop-settings",
    async (page, api) => {
      const other = await api("POST", "/api/admin/v1/merchants", {
        name: "别家",
        admin: { username: "other.owner", password: "pass-for-browser-tests" },
      });
      await page.reload();
      const [first] = (await api("GET", "/api/admin/v1/merchants")).list;
      const whose = page.getByText(`本页按商家分别显示，现在是“${first.name}”的`);
      await page.locator(".shop").getByText("全部商家").waitFor();
      await whose.waitFor();
      const notice = page.getByLabel("店铺公告");
      const question = page.getByRole("dialog", { name: "离开" });
      const switchShop = async () => {
        await page.getByRole("combobox", { name: "商家" }).click();
        await page.getByRole("option", { name: "别家", exact: true }).click();
      };
      const logOut = async () => {
        await page.getByRole("button", { name: "账号" }).click();
        await page.getByRole("menuitem", { name: "退出登录" }).click();
      };
      await notice.fill("没有保存的");
      for (const leave of [switchShop, logOut]) {
        await leave();
        await question.getByRole("button", { name: "取消" }).click();
        await question.waitFor({ state: "hidden" });
        assert.equal(await notice.inputValue(), "没有保存的");
      }
      await switchShop();
      await question.getByRole("button", { name: "离开" }).click();
      await page.waitForFunction(() => document.querySelector("main textarea")?.value === "");
      await settled(page);
      await notice.fill("别家的公告");
      await page.getByRole("button", { name: "保存" }).click();
      await page.getByText("已保存").waitFor();
      assert.equal((await api("GET", `/api/admin/v1/shop-settings?merchant_id=${other.id}`)).notice, "别家的公告");
      assert.equal(await whose.count(), 0, "the chosen shop is what the page shows");

      // The choice is kept. Back to all of them: this page shows the first one's and says so, the change log shows everybody's.
      await page.reload();
      await page.locator(".shop").getByText("别家").waitFor();
      await settled(page);
      await page.getByRole("combobox", { name: "商家" }).click();
      await page.getByRole("option", { name: "全部商家", exact: true }).click();
      await page.locator(".shop").getByText("全部商家").waitFor();
      await whose.waitFor();
      await accessible(page);
      await page.getByRole("link", { name: "操作日志" }).click();
      await page.getByRole("button", { name: /店铺设置/ }).waitFor();
      assert.equal(await whose.count(), 0, "the change log is said to be one shop's");
      await page.goBack();
      await settled(page);

      await notice.fill("没有保存的");
      await caller(shop.url, token)("POST", "/api/admin/v1/auth/logout");
      await page.getByRole("button", { name: "保存" }).click();
      await page.waitForURL(/\/admin\/login\?next=/);
      await page.getByText("登录已失效").waitFor();
      assert.equal(await question.count(), 0);
    },
    { token, expected: [/401/] },
  );
});

test("language and theme are switched and kept", async () => {
  await panel(browser, shop, "/", async (page) => {
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("link", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: /Theme/ }).click();
    await page.reload();
    await page.getByRole("link", { name: "Overview" }).waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.classList.contains("dark")));
    assert.equal(await page.evaluate(() => document.documentElement.lang), "en");
    await settled(page);
  });
});

test("/ focuses the search", async () => {
  await panel(browser, shop, "/", async (page) => {
    await settled(page);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "搜索");
  });
});

test("pictures", pictured, async () => {
  await gallery(browser, shop, "/login", "login", undefined, { token: "" });
  await gallery(browser, shop, "/no-such-page", "not-found");
});

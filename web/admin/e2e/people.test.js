// Admins, roles and merchants.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, caller, serve } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

const password = "pass-for-browser-tests";
let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

async function login(username) {
  return (await caller(shop.url)("POST", "/api/admin/v1/auth/login", { username, password })).token;
}

/** Chooses from a select of Element Plus. */
async function choose(page, label, option) {
  await page.getByRole("combobox", { name: label }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

test("a role, an admin with it, and what they see", async () => {
  await panel(browser, shop, "/people/roles", async (page) => {
    await page.getByRole("button", { name: "新建角色" }).click();
    await page.waitForURL(/roles\/new/);
    await page.getByLabel("角色名称").fill("仓库");
    await page.locator("label", { has: page.getByRole("checkbox", { name: "发货、改价、关闭订单" }) }).click();
    assert.ok(await page.getByRole("checkbox", { name: "查看订单与售后" }).isChecked(), "changing implies seeing");
    await page.getByRole("button", { name: "保存" }).click();
    await page.waitForURL(/roles\/\d+$/);
    await page.getByText("还没有管理员拥有此角色").waitFor();
    await accessible(page);

    await page.goto(`${shop.url}/admin/people/admins/new`);
    await page.getByRole("textbox", { name: "用户名" }).fill("Clerk.Ware");
    await page.getByRole("textbox", { name: "密码" }).fill(password);
    await choose(page, "角色", "仓库");
    await page.getByRole("button", { name: "新建管理员" }).click();
    await page.waitForURL(/admins\/\d+$/);
    await page.getByRole("heading", { name: "clerk.ware" }).waitFor();
    await accessible(page);
    await page.goto(`${shop.url}/admin/people/roles`);
    await page.getByRole("row", { name: /仓库/ }).getByRole("link", { name: "1 人" }).click();
    await page.getByRole("link", { name: "clerk.ware" }).waitFor();
  });

  await panel(
    browser,
    shop,
    "/account",
    async (page) => {
      await page.getByRole("heading", { name: "我的账号" }).waitFor();
      const menu = page.getByRole("navigation", { name: "主菜单" });
      await menu.getByRole("link").first().waitFor();
      assert.equal(await menu.getByRole("link", { name: "管理员" }).count(), 0);
      assert.equal(await menu.getByRole("link", { name: "角色" }).count(), 0);
      assert.equal(await menu.getByRole("link", { name: "商家" }).count(), 0);
    },
    { token: await login("clerk.ware"), expected: [/403/] },
  );
});

test("a role that nobody has is deleted, whatever somebody else made of it meanwhile", async () => {
  const boss = await admin(shop);
  const role = await boss("POST", "/api/admin/v1/roles", { name: "临时", permissions: ["order:read"] });
  const held = (await boss("GET", "/api/admin/v1/roles")).list.find((r) => r.admins > 0);
  await panel(
    browser,
    shop,
    `/people/roles/${held.id}`,
    async (page) => {
      await page.getByRole("button", { name: "保存" }).waitFor();
      assert.equal(await page.getByRole("button", { name: "删除" }).count(), 0, "a role that somebody has cannot go");
      await page.goto(`${shop.url}/admin/people/roles/${role.id}`);
      await page.getByRole("button", { name: "删除" }).click();
      const question = page.getByRole("dialog", { name: "删除角色 临时？" });
      await question.getByText("谁的权限都不会变").waitFor();
      const other = { version: role.version, name: "临时的", permissions: ["order:read"] };
      await boss("PUT", `/api/admin/v1/roles/${role.id}`, other);
      await question.getByRole("button", { name: "删除" }).click();
      const stale = page.getByRole("dialog", { name: "别人刚刚改过" });
      await stale.getByRole("row", { name: /角色名称 临时 临时的$/ }).waitFor();
      await accessible(page);
      await stale.getByRole("button", { name: "仍要删除" }).click();
      await page.waitForURL(/people\/roles$/);
      await page.getByRole("button", { name: "新建角色" }).waitFor();
      assert.ok(!(await boss("GET", "/api/admin/v1/roles")).list.some((r) => r.id === role.id));
    },
    { expected: [/409/] },
  );
});

test("an admin is disabled, and a stale save shows what changed", async () => {
  const boss = await admin(shop);
  const { list: roles } = await boss("GET", "/api/admin/v1/roles");
  const own = roles.find((r) => !r.merchant_id);
  const made = await boss("POST", "/api/admin/v1/admins", { username: "clerk.stale", password, role_id: own.id });
  const reader = await boss("POST", "/api/admin/v1/roles", { name: "只看报表", permissions: ["report:read"] });
  const token = await login("clerk.stale");
  await panel(
    browser,
    shop,
    `/people/admins/${made.id}`,
    async (page) => {
      await choose(page, "角色", "只看报表");
      await boss("PUT", `/api/admin/v1/admins/${made.id}`, { version: 1, disabled: true });
      await page.getByRole("button", { name: "保存" }).click();
      const stale = page.getByRole("dialog", { name: "别人刚刚改过" });
      await stale.getByRole("row", { name: /状态/ }).waitFor();
      await stale.getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByText("已保存").waitFor();
      const now = await boss("GET", `/api/admin/v1/admins/${made.id}`);
      assert.equal(now.role_id, reader.id);
      assert.equal(now.disabled, true, "what somebody else changed stays");
      await assert.rejects(caller(shop.url, token)("GET", "/api/admin/v1/auth/me"), /401/);

      await page.getByRole("button", { name: "启用" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "启用" }).click();
      await page.getByRole("button", { name: "停用" }).waitFor();
      await login("clerk.stale");
    },
    { expected: [/409/] },
  );
});

test("a merchant is added with its first admin, and disabled while somebody else renames it", async () => {
  await panel(
    browser,
    shop,
    "/people/merchants",
    async (page, boss) => {
      await page.getByRole("button", { name: "新建商家" }).click();
      await page.getByLabel("商家名称").fill("浪花杂货");
      await page.getByRole("textbox", { name: "用户名" }).fill("wave.owner");
      await page.getByRole("textbox", { name: "密码" }).fill(password);
      await page.getByRole("button", { name: "新建商家" }).click();
      await page.waitForURL(/merchants\/\d+$/);
      const token = await login("wave.owner");
      await accessible(page);
      await page.getByRole("button", { name: "停用" }).click();
      const question = page.getByRole("dialog", { name: /停用商家 浪花杂货/ });
      await question.getByText("商品立即从店铺消失").waitFor();
      const path = `/api/admin/v1${new URL(page.url()).pathname.replace("/admin/people", "")}`;
      await boss("PUT", path, { version: 1, name: "浪花百货", disabled: false });
      await question.getByRole("button", { name: "停用" }).click();
      await page.getByRole("dialog", { name: "别人刚刚改过" }).getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByRole("button", { name: "启用" }).waitFor();
      assert.equal((await boss("GET", path)).name, "浪花百货");
      // The other way round, and the name that was typed stays while the state is changed.
      await page.getByLabel("商家名称").fill("浪花杂货");
      await page.getByRole("button", { name: "启用" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "启用" }).click();
      await page.getByRole("button", { name: "停用" }).waitFor();
      assert.equal(await page.getByLabel("商家名称").inputValue(), "浪花杂货");
      await boss("PUT", path, { version: (await boss("GET", path)).version, name: "浪花百货", disabled: true });
      await page.getByRole("button", { name: "保存" }).click();
      await page.getByRole("dialog", { name: "别人刚刚改过" }).getByRole("button", { name: "用我的覆盖" }).click();
      await page.getByRole("button", { name: "启用" }).waitFor();
      assert.equal((await boss("GET", path)).name, "浪花杂货");
      await assert.rejects(caller(shop.url, token)("GET", "/api/admin/v1/auth/me"), /merchant_disabled/);
      await page.goto(`${shop.url}/admin/people/merchants`);
      await page
        .getByRole("row", { name: /浪花杂货/ })
        .getByText("停用")
        .waitFor();
      await settled(page);
    },
    { expected: [/409/] },
  );
});

test("pictures", pictured, async () => {
  const boss = await admin(shop);
  const { list } = await boss("GET", "/api/admin/v1/roles");
  const { id } = await boss("GET", "/api/admin/v1/auth/me");
  await gallery(browser, shop, "/people/admins", "people-admins");
  await gallery(browser, shop, "/people/admins/new", "people-admin-new");
  await gallery(browser, shop, `/people/admins/${id}`, "people-admin");
  await gallery(browser, shop, "/people/roles", "people-roles");
  await gallery(browser, shop, "/people/roles/new", "people-role-new");
  await gallery(browser, shop, "/people/merchants", "people-merchants");
  await gallery(browser, shop, `/people/roles/${list[0].id}`, "people-role");
  await gallery(browser, shop, "/people/merchants/new", "people-merchant-new");
});

// Logging in with a password and a second factor, one's own account, its sessions.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { launch } from "../../e2e/browser.js";
import { admin, caller, serve } from "../../e2e/shop.js";
import { accessible, gallery, panel, pictured, settled } from "./panel.js";

const password = "pass-for-browser-tests";
const changed = "another-pass-for-tests";
let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

/** An admin of the platform of a test's own, with the right to see reports. */
async function clerk(name) {
  const boss = await admin(shop);
  const { list } = await boss("GET", "/api/admin/v1/roles");
  const role =
    list.find((r) => r.name === "测试") ??
    (await boss("POST", "/api/admin/v1/roles", { name: "测试", permissions: ["report:read", "merchant:read"] }));
  await boss("POST", "/api/admin/v1/admins", { username: name, password, role_id: role.id });
}

async function login(name, secret = password) {
  return (await caller(shop.url)("POST", "/api/admin/v1/auth/login", { username: name, password: secret })).token;
}

/** RFC 6238: what an authenticator app shows `steps` from now. */
function code(secret, steps = 0) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((c) => alphabet.indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((b) => Number.parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const sum = createHmac("sha1", key).update(counter).digest();
  const at = sum[19] & 15;
  return String((sum.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

async function enter(page, name, secret) {
  await page.getByLabel("用户名").fill(name);
  await page.getByLabel("密码", { exact: true }).fill(secret);
  await page.getByRole("button", { name: "登录", exact: true }).click();
}

test("a wrong password, then the right one", async () => {
  await clerk("clerk.login");
  await panel(
    browser,
    shop,
    "/login",
    async (page) => {
      await enter(page, "clerk.login", "not the password");
      await page.getByRole("alert").filter({ hasText: "用户名或密码不正确" }).waitFor();
      await accessible(page);
      for (let i = 0; i < 4; i++) {
        const answered = page.waitForResponse(/auth\/login/);
        await page.getByRole("button", { name: "登录", exact: true }).click();
        await answered;
      }
      await enter(page, "clerk.login", password);
      await page.getByRole("alert").filter({ hasText: "失败次数过多" }).waitFor();
      await enter(page, "admin", password);
      await page.waitForURL(/\/admin\/$/);
      await settled(page);
    },
    { token: "", expected: [/401/, /429/] },
  );
});

test("the password is changed, by its rules, and another tab goes along", async () => {
  await clerk("clerk.password");
  const token = await login("clerk.password");
  await panel(
    browser,
    shop,
    "/account",
    async (page) => {
      const tab = await page.context().newPage();
      await tab.goto(`${shop.url}/admin/account`);
      await tab.getByRole("region", { name: "登录会话" }).getByText("本机").waitFor();
      await page.bringToFront();
      const told = tab.waitForResponse((r) => r.url().endsWith("/auth/sessions") && r.ok());
      await page.getByLabel("原密码").fill("not the password");
      await page.getByLabel("新密码", { exact: true }).fill("short");
      await page.getByRole("button", { name: "修改密码" }).click();
      await page.getByText("至少 8 个字符").waitFor();
      await page.getByText("两次输入不一致").waitFor();
      await page.getByLabel("新密码", { exact: true }).fill(changed);
      await page.getByLabel("再输入一次新密码").fill(changed);
      await page.getByRole("button", { name: "修改密码" }).click();
      await page.locator(".el-form-item__error", { hasText: "原密码不正确" }).waitFor();
      await page.getByLabel("原密码").fill(password);
      await page.getByRole("button", { name: "修改密码" }).click();
      await page.getByText("密码已修改").waitFor();
      await told;
      await page.reload();
      await page.getByRole("heading", { name: "我的账号" }).waitFor();
      await tab.bringToFront();
      await tab.getByRole("button", { name: "账号" }).click();
      await tab.getByRole("menuitem", { name: "退出登录" }).click();
      await page.waitForURL(/\/admin\/login/);
    },
    { token, expected: [/422/] },
  );
  await login("clerk.password", changed);
  await assert.rejects(login("clerk.password"), /401/);
});

test("a session is ended from another one", async () => {
  await clerk("clerk.sessions");
  const first = await login("clerk.sessions");
  const second = await login("clerk.sessions");
  await login("clerk.sessions");
  await panel(
    browser,
    shop,
    "/account",
    async (page) => {
      const rows = page.getByRole("region", { name: "登录会话" }).locator(".el-table__body-wrapper tbody tr");
      await rows.nth(2).waitFor();
      assert.equal(await rows.count(), 3);
      const other = (await caller(shop.url, first)("GET", "/api/admin/v1/auth/sessions")).list;
      assert.equal(other.filter((s) => s.current).length, 1);
      await rows.filter({ hasNotText: "本机" }).first().getByRole("button", { name: "退出" }).click();
      await page.getByRole("dialog").getByText("将立即需要重新登录").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "退出", exact: true }).click();
      await page.getByText("会话已退出").first().waitFor();
      await rows.nth(2).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "退出其他会话" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "退出其他会话" }).click();
      await rows.nth(1).waitFor({ state: "detached" });
      await assert.rejects(caller(shop.url, second)("GET", "/api/admin/v1/auth/me"), /401/);
      await page.getByRole("button", { name: "全部退出" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "全部退出" }).click();
      await page.waitForURL(/\/admin\/login/);
      await assert.rejects(caller(shop.url, first)("GET", "/api/admin/v1/auth/me"), /401/);
    },
    { token: first },
  );
});

test("a second factor is turned on, asked for, and turned off", async () => {
  await clerk("clerk.factor");
  const [token, elsewhere] = [await login("clerk.factor"), await login("clerk.factor")];
  await panel(
    browser,
    shop,
    "/account",
    async (page) => {
      await page.getByRole("button", { name: "开启两步验证" }).click();
      const setup = page.getByRole("dialog", { name: "开启两步验证" });
      const qr = setup.getByRole("img", { name: "两步验证二维码" });
      await qr.waitFor();
      assert.ok(await qr.evaluate((img) => img.complete && img.naturalWidth > 100));
      const secret = (await setup.locator(".secret .mono").textContent()).trim();
      await accessible(page);
      await setup.getByLabel("输入应用现在显示的 6 位数字").fill(code(secret));
      await setup.getByLabel("密码", { exact: true }).fill("not the password");
      await setup.getByRole("button", { name: "验证并开启" }).click();
      await setup.getByText("密码不正确").first().waitFor();
      await setup.getByLabel("密码", { exact: true }).fill(password);
      await setup.getByRole("button", { name: "验证并开启" }).click();
      const kept = page.getByRole("dialog", { name: "保存恢复码" });
      await kept.locator("li").nth(9).waitFor();
      const codes = await kept.locator("li").allTextContents();
      await accessible(page);
      await kept.getByRole("button", { name: "已经保存好" }).click();
      await page.getByText("剩余恢复码 10 个").waitFor();
      const sessions = page.getByRole("region", { name: "登录会话" });
      await sessions.getByRole("row").nth(2).waitFor({ state: "detached" }); // the heading and this one are left
      await assert.rejects(caller(shop.url, elsewhere)("GET", "/api/admin/v1/auth/me"), /401/);

      await page.getByRole("button", { name: "账号" }).click();
      await page.getByRole("menuitem", { name: "退出登录" }).click();
      await page.waitForURL(/\/admin\/login/);
      await enter(page, "clerk.factor", password);
      await page.getByLabel("动态验证码").fill("000-000-000");
      await page.getByRole("button", { name: "验证并登录" }).click();
      await page.getByRole("alert").filter({ hasText: "动态验证码不正确" }).waitFor();
      await page.getByLabel("动态验证码").fill(code(secret, 1)); // confirming has used the present one
      await page.getByRole("button", { name: "验证并登录" }).click();
      await page.waitForURL((url) => !url.pathname.includes("login"));

      await page.goto(`${shop.url}/admin/account`);
      await page.getByRole("button", { name: "关闭两步验证" }).click();
      const proof = page.getByRole("dialog", { name: "关闭两步验证" });
      await proof.getByLabel("密码", { exact: true }).fill(password);
      await proof.getByLabel("动态验证码").fill(codes[0]);
      await proof.getByRole("button", { name: "关闭两步验证" }).click();
      await page.getByRole("button", { name: "开启两步验证" }).waitFor();
      await login("clerk.factor");
    },
    { token, expected: [/401/, /422/] },
  );
});

test("pictures", pictured, async () => {
  await gallery(browser, shop, "/account", "account", (page) =>
    page
      .getByRole("region", { name: /^(登录会话|Sessions)$/ })
      .getByRole("row")
      .nth(1)
      .waitFor(),
  );
});

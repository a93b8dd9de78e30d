// The deadlines: whether all is well in one line, what waits, and dead tasks with their retry.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { launch } from "../../e2e/browser.js";
import { admin, onServers, serve, shopper, until } from "../../e2e/shop.js";
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

/** Faults are made in the embedded shop only: by sqlite3, from outside. */
const embedded = { skip: onServers && "faults are made in the embedded shop only" };

/** Changes the embedded shop's database from outside, as a fault would. */
const sql = (text) => promisify(execFile)("sqlite3", ["-cmd", ".timeout 5000", `${shop.dir}/shop.db`, text]);

/** Has new orders close after so many milliseconds; returns what undoes it. */
async function closingAfter(ms) {
  const api = await admin(shop);
  const made = await api("POST", "/api/admin/v1/timeout-policies", { stage: "pay", merchant_id: 1, duration_ms: ms });
  return () => api("DELETE", `/api/admin/v1/timeout-policies/${made.id}?version=${made.version}`);
}

test("one line says that all is well, and what was due", async () => {
  const undo = await closingAfter(1000);
  const buyer = await shopper(shop, "on-time");
  const order = await place(buyer);
  await undo();
  await until("the order is closed", async () => (await buyer("GET", `/api/v1/orders/${order.no}`)).status === "closed");
  const api = await admin(shop);
  const noted = await until("it is noted", async () => {
    const hour = await api("GET", "/api/admin/v1/timeouts/lateness?range=1h&kind=pay");
    return hour.fired === 1 && hour;
  });
  // On a machine that stood still it was late, and that is what the line says.
  const verdict =
    noted.p99_ms > 1000
      ? /^有 \d 件事不对：过去 1 小时 \d+ 个到期，p99 晚 .+，\d+ 补偿$/
      : /^全部准时：过去 1 小时 \d+ 个到期，p99 晚 .+，0 补偿$/;
  const waiting = await place(buyer);
  await panel(browser, shop, "/deadlines", async (page) => {
    await page.getByRole("status").getByText(verdict).waitFor();
    await page.getByText("64 / 64 个分片有副本负责").waitFor();
    await page.getByRole("link", { name: "付款截止" }).click();
    await page.getByRole("link", { name: waiting.no }).waitFor();
    await settled(page);
    await accessible(page);
  });
});

test("a task that fails too often is dead, is shown, and runs again once its cause is gone", embedded, async () => {
  await sql(
    "CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN NEW.state = 'closed' BEGIN SELECT RAISE(ABORT, 'no order may be closed'); END",
  );
  const undo = await closingAfter(1000);
  const buyer = await shopper(shop, "unlucky");
  const order = await place(buyer);
  await undo();
  const api = await admin(shop);
  const dead = async () => (await api("GET", "/api/admin/v1/timeouts?status=dead")).total;
  await until("the task is dead", async () => (await dead()) === 1, 40_000);
  await sql("DROP TRIGGER refuse");
  await panel(browser, shop, "/deadlines", async (page) => {
    await page
      .getByRole("status")
      .getByText(/^有 \d 件事不对/)
      .waitFor();
    const line = page.getByRole("status").getByRole("listitem").filter({ hasText: "付款截止：1 个已停止重试" });
    await line.getByRole("link", { name: "查看" }).click();
    const row = page.getByRole("row").filter({ hasText: order.no });
    await row.getByText("no order may be closed").waitFor();
    await settled(page);
    await accessible(page);
    await row.getByRole("button", { name: /^重试/ }).click();
    await page.getByText("没有失败的任务").waitFor();
  });
  await until("the order is closed", async () => (await buyer("GET", `/api/v1/orders/${order.no}`)).status === "closed");
  assert.equal(await dead(), 0);
});

test("all dead tasks are retried at once, their number said before", embedded, async () => {
  await sql(
    `INSERT INTO task_failures SELECT 'remind', id, 1, 5, 0, 1, 1, 'the message could not be written', 1, 1 FROM orders WHERE state = 'closed'`,
  );
  await gallery(browser, shop, "/deadlines", "deadlines");
  await gallery(browser, shop, "/deadlines/failed?status=dead", "deadlines-failed");
  await gallery(browser, shop, "/deadlines/waiting/pay", "deadlines-waiting");
  await panel(browser, shop, "/deadlines/failed?status=dead", async (page) => {
    await page.getByRole("button", { name: "全部重试（2）" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("将立即重新执行 2 个已停止重试的任务").waitFor();
    await dialog.getByRole("button", { name: "全部重试（2）" }).click();
    await page.getByText("2 个任务已重新执行").waitFor();
    await page.getByText("没有失败的任务").waitFor();
  });
});

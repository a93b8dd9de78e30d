// A shop of its own for the browser tests: the built binary, embedded, on spare ports and with an empty folder.
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const binary = new URL("../../bin/tidemall", import.meta.url).pathname;
const password = "pass-for-browser-tests";

// Whether shops run on the MySQL and the Redis that variables name (as the Go tests do), instead of embedded.
export const onServers = process.env.E2E_ON === "servers";

// What a shop needs to run on the servers: a database of its own. Several shops may share a Redis.
async function servers() {
  const { TIDEMALL_TEST_MYSQL_DSN: dsn, TIDEMALL_TEST_REDIS_ADDR: redis } = process.env;
  const [, user, host, port] = dsn?.match(/^(\w+):?@tcp\(([\d.]+):(\d+)\)\//) ?? [];
  if (!port || !redis) throw new Error("E2E_ON=servers needs TIDEMALL_TEST_MYSQL_DSN (a user without a password) and TIDEMALL_TEST_REDIS_ADDR");
  const database = `tidemall_e2e_${randomBytes(6).toString("hex")}`;
  const sql = (text) => promisify(execFile)("mariadb", ["--no-defaults", `-h${host}`, `-P${port}`, `-u${user}`, "-e", text]);
  await sql(`CREATE DATABASE ${database}`);
  return {
    env: { TIDEMALL_MYSQL_DSN: `${user}@tcp(${host}:${port})/${database}`, TIDEMALL_REDIS_ADDRS: redis, TIDEMALL_DEMO: "true" },
    drop: () => sql(`DROP DATABASE ${database}`),
  };
}

// Starts the shop and returns once it says where it serves. `stop` ends it and removes its folder `dir`.
export async function serve() {
  const dir = await mkdtemp(join(tmpdir(), "tidemall-e2e-"));
  const bare = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEMALL_")));
  const parts = onServers ? await servers() : { env: {}, drop: async () => {} };
  const child = spawn(binary, ["serve"], {
    cwd: dir,
    env: {
      ...bare,
      TIDEMALL_DATA_DIR: dir,
      TIDEMALL_HTTP_ADDR: "127.0.0.1:0",
      TIDEMALL_WECHAT_SANDBOX_ADDR: "127.0.0.1:0",
      TIDEMALL_ADMIN_PASSWORD: password,
      TIDEMALL_LOG_LEVEL: "warn",
      ...parts.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const killed = () => child.kill("SIGKILL");
  process.on("exit", killed);
  let log = "";
  child.stderr.on("data", (part) => (log = (log + part).slice(-8000)));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    process.off("exit", killed);
    await Promise.all([rm(dir, { recursive: true, force: true }), parts.drop()]);
  };

  let url, sandbox;
  for await (const line of createInterface({ input: child.stdout })) {
    url ??= line.match(/serves at (http:\S+)/)?.[1];
    sandbox ??= line.match(/simulated at (http:\S+)/)?.[1];
    if (url && sandbox) break;
  }
  if (!sandbox) {
    await stop();
    throw new Error(`the shop did not start:\n${log}`);
  }
  try {
    await until("the shop is ready", async () => (await fetch(url + "/readyz").catch(() => null))?.ok, 30_000);
  } catch (unready) {
    await stop();
    throw new Error(log, { cause: unready });
  }
  return { url, sandbox, dir, stop };
}

// Somebody who calls the shop's API. Any answer but 2xx is an error.
export function caller(base, token) {
  return async (method, path, body, headers = {}) => {
    const reply = await fetch(base + path, {
      method,
      headers: {
        ...(body && { "Content-Type": "application/json" }),
        ...(token && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body && JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
}

export async function shopper(shop, name) {
  const { token } = await caller(shop.url)("POST", "/api/v1/auth/login", { code: `demo-${name}` });
  return caller(shop.url, token);
}

export async function admin(shop) {
  const { token } = await caller(shop.url)("POST", "/api/admin/v1/auth/login", { username: "admin", password });
  return Object.assign(caller(shop.url, token), { token });
}

let keys = 0;

// Buys one piece of a demo product and opens it for payment. Returns the order and what the phone would get.
export async function buy(api) {
  const { list } = await api("GET", "/api/v1/products?limit=5");
  const product = await api("GET", `/api/v1/products/${list[0].id}`);
  const address = await api("POST", "/api/v1/addresses", {
    name: "张三",
    phone: "13800138000",
    province: "广东省",
    city: "深圳市",
    detail: "科技园 1 号",
    is_default: true,
  });
  const basket = { items: [{ sku_id: product.skus.find((s) => s.stock > 0).id, quantity: 1 }], address_id: address.id };
  const quote = await api("POST", "/api/v1/orders/quote", basket);
  const order = await api(
    "POST",
    "/api/v1/orders",
    { ...basket, expected_payable_fen: quote.payable_fen },
    { "Idempotency-Key": `browser-test-${++keys}` },
  );
  const payment = await api("POST", `/api/v1/orders/${order.no}/pay`);
  return { order, payment, prepay: payment.package.replace("prepay_id=", "") };
}

// The most that one look counts of the patience of `until`, in milliseconds.
const look = 250;

// Asks until the answer is yes. Its patience is counted in looks: where the machine stands still for seconds it looks no less often.
export async function until(what, ask, within = 15_000) {
  for (let waited = 0, last = Date.now(); ; ) {
    const got = await ask();
    if (got) return got;
    if (waited > within) throw new Error(`not within ${within} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = Date.now();
    waited += Math.min(now - last, look);
    last = now;
  }
}

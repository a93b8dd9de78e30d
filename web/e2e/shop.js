// A shop of its own for the browser tests: the built binary, embedded, on spare ports and with an empty folder.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const binary = new URL("../../bin/tidemall", import.meta.url).pathname;
const password = "pass-for-browser-tests";

// Starts the shop and returns once it says where it serves. `stop` ends it and removes its folder.
export async function serve() {
  const dir = await mkdtemp(join(tmpdir(), "tidemall-e2e-"));
  const bare = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEMALL_")));
  const child = spawn(binary, ["serve"], {
    cwd: dir,
    env: {
      ...bare,
      TIDEMALL_DATA_DIR: dir,
      TIDEMALL_HTTP_ADDR: "127.0.0.1:0",
      TIDEMALL_WECHAT_SANDBOX_ADDR: "127.0.0.1:0",
      TIDEMALL_ADMIN_PASSWORD: password,
      TIDEMALL_LOG_LEVEL: "warn",
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
    await rm(dir, { recursive: true, force: true });
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
  for (const deadline = Date.now() + 30_000; !(await fetch(url + "/readyz").catch(() => null))?.ok; ) {
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`the shop did not get ready:\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, sandbox, stop };
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
  return caller(shop.url, token);
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

// Asks until the answer is yes.
export async function until(what, ask, within = 15_000) {
  for (const deadline = Date.now() + within; ; ) {
    const got = await ask();
    if (got) return got;
    if (Date.now() > deadline) throw new Error(`not within ${within} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

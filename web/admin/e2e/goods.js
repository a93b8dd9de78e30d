// Orders in the states that after-sales and reviews begin from, made by the API.
import { buy, caller, shopper, until } from "../../e2e/shop.js";

// A shopper with an order that is paid at the simulated WeChat.
export async function paid(shop, name) {
  const me = await shopper(shop, name);
  const { order, prepay } = await buy(me);
  await caller(shop.sandbox)("POST", "/sandbox/pay", { prepay_id: prepay, result: "SUCCESS" });
  await until("the order is paid", async () => (await me("GET", `/api/v1/orders/${order.no}`)).status === "paid");
  return { me, order: await me("GET", `/api/v1/orders/${order.no}`) };
}

// The same, shipped and received.
export async function received(shop, admin, name) {
  const { me, order } = await paid(shop, name);
  await admin("POST", `/api/admin/v1/orders/${order.no}/ship`, { parcels: [{ delivery: "virtual" }] });
  await me("POST", `/api/v1/orders/${order.no}/confirm`);
  return { me, order: await me("GET", `/api/v1/orders/${order.no}`) };
}

// What the shopper asks for: money back for one piece of the order's first line.
export function asks(me, order, reason, type = "refund") {
  return me("POST", `/api/v1/orders/${order.no}/aftersales`, { type, lines: [{ line_id: order.lines[0].id, quantity: 1 }], reason });
}

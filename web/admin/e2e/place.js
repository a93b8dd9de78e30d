// An order that nobody has begun to pay.
let keys = 0;

/** Places an order for one piece of a demo product, as the shopper whose API is given. */
export async function place(api) {
  const { list } = await api("GET", "/api/v1/products?limit=5");
  const product = await api("GET", `/api/v1/products/${list[0].id}`);
  const { list: known } = await api("GET", "/api/v1/addresses");
  const address =
    known[0] ??
    (await api("POST", "/api/v1/addresses", {
      name: "张三",
      phone: "13800138000",
      province: "广东省",
      city: "深圳市",
      detail: "科技园 1 号",
      is_default: true,
    }));
  const basket = { items: [{ sku_id: product.skus.find((s) => s.stock > 0).id, quantity: 1 }], address_id: address.id };
  const { payable_fen: expected_payable_fen } = await api("POST", "/api/v1/orders/quote", basket);
  return api("POST", "/api/v1/orders", { ...basket, expected_payable_fen }, { "Idempotency-Key": `unpaid-order-${++keys}` });
}

import { List } from "@element-plus/icons-vue";
import { defineSection } from "../section";

const needs = { permission: "order:read", title: "orders.title" };

export default defineSection({
  routes: [
    { path: "/orders", name: "orders", component: () => import("./OrdersPage.vue"), meta: needs },
    { path: "/orders/slips", name: "order-slips", component: () => import("./SlipPage.vue"), meta: { ...needs, title: "orders.slip" } },
    { path: "/orders/:no", name: "order", component: () => import("./OrderPage.vue"), meta: needs },
    { path: "/orders/:no/slip", name: "order-slip", component: () => import("./SlipPage.vue"), meta: { ...needs, title: "orders.slip" } },
  ],
  nav: [{ group: "business", order: 20, to: "/orders", title: "orders.title", icon: List, permission: "order:read", badge: "to_ship" }],
});

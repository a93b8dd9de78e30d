import { Ticket } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    {
      path: "/coupons",
      name: "coupons",
      component: () => import("./CouponsPage.vue"),
      meta: { title: "coupons.title", permission: "coupon:read" },
    },
    {
      path: "/coupons/new",
      name: "coupon-new",
      component: () => import("./CouponPage.vue"),
      meta: { title: "coupons.add", permission: "coupon:write" },
    },
    {
      path: "/coupons/:id(\\d+)",
      name: "coupon",
      component: () => import("./CouponPage.vue"),
      meta: { title: "coupons.title", permission: "coupon:read" },
    },
  ],
  nav: [{ group: "marketing", order: 10, to: "/coupons", title: "coupons.title", icon: Ticket, permission: "coupon:read" }],
});

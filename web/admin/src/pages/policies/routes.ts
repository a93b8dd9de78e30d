import { AlarmClock } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    {
      path: "/policies",
      name: "policies",
      component: () => import("./PoliciesPage.vue"),
      meta: { permission: "timeout:read", title: "policies.title", everyShop: true },
    },
    {
      path: "/policies/new",
      component: () => import("./NewPolicyPage.vue"),
      meta: { permission: "timeout:write", title: "policies.new", everyShop: true },
    },
    {
      path: "/policies/:id(\\d+)",
      component: () => import("./PolicyPage.vue"),
      meta: { permission: "timeout:read", title: "policies.one", everyShop: true },
    },
  ],
  nav: [{ group: "money", order: 20, to: "/policies", title: "policies.title", icon: AlarmClock, permission: "timeout:read" }],
});

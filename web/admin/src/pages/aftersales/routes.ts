import { RefreshLeft } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    {
      path: "/aftersales",
      name: "aftersales",
      component: () => import("./AftersalesPage.vue"),
      meta: { title: "aftersales.title", permission: "order:read" },
    },
    {
      path: "/aftersales/:id(\\d+)",
      name: "aftersale",
      component: () => import("./AftersalePage.vue"),
      meta: { title: "aftersales.title", permission: "order:read" },
    },
  ],
  nav: [
    {
      group: "business",
      order: 30,
      to: "/aftersales",
      title: "aftersales.title",
      icon: RefreshLeft,
      permission: "order:read",
      badge: "aftersales",
    },
  ],
});

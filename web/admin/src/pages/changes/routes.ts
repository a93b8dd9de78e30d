import { Notebook } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    {
      path: "/changes",
      component: () => import("./ChangeLog.vue"),
      meta: { title: "changes.title", permission: "account:read", everyShop: true },
    },
  ],
  nav: [{ group: "settings", order: 90, to: "/changes", title: "changes.title", icon: Notebook, permission: "account:read" }],
});

import { Shop } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    { path: "/shop-settings", component: () => import("./ShopSettings.vue"), meta: { title: "settings.title", permission: "shop:read" } },
  ],
  nav: [{ group: "settings", order: 10, to: "/shop-settings", title: "settings.title", icon: Shop, permission: "shop:read" }],
});

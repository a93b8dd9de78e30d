import { Key, OfficeBuilding, UserFilled } from "@element-plus/icons-vue";
import { defineSection } from "../section";

const seen = { permission: "account:read", everyShop: true };
const shops = { permission: "merchant:read", platform: true };

export default defineSection({
  routes: [
    { path: "/people/admins", component: () => import("./AdminList.vue"), meta: { ...seen, title: "people.admins" } },
    {
      path: "/people/admins/new",
      component: () => import("./AdminNew.vue"),
      meta: { ...seen, permission: "account:write", title: "people.newAdmin" },
    },
    { path: "/people/admins/:id(\\d+)", component: () => import("./AdminPage.vue"), meta: { ...seen, title: "people.admin" } },
    { path: "/people/roles", component: () => import("./RoleList.vue"), meta: { ...seen, title: "people.roles" } },
    {
      path: "/people/roles/new",
      component: () => import("./RolePage.vue"),
      meta: { ...seen, permission: "account:write", title: "people.newRole" },
    },
    { path: "/people/roles/:id(\\d+)", component: () => import("./RolePage.vue"), meta: { ...seen, title: "people.role" } },
    { path: "/people/merchants", component: () => import("./MerchantList.vue"), meta: { ...shops, title: "people.merchants" } },
    {
      path: "/people/merchants/new",
      component: () => import("./MerchantNew.vue"),
      meta: { permission: "merchant:write", platform: true, title: "people.newMerchant" },
    },
    { path: "/people/merchants/:id(\\d+)", component: () => import("./MerchantPage.vue"), meta: { ...shops, title: "people.merchant" } },
  ],
  nav: [
    { group: "settings", order: 50, to: "/people/admins", title: "people.admins", icon: UserFilled, permission: "account:read" },
    { group: "settings", order: 51, to: "/people/roles", title: "people.roles", icon: Key, permission: "account:read" },
    { group: "settings", order: 52, to: "/people/merchants", title: "people.merchants", icon: OfficeBuilding, ...shops },
  ],
});

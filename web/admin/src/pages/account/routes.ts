import { defineSection } from "../section";

export default defineSection({
  routes: [{ path: "/account", component: () => import("./AccountPage.vue"), meta: { title: "account.title", everyShop: true } }],
});

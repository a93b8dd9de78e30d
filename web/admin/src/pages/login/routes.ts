import { defineSection } from "../section";

export default defineSection({
  routes: [{ path: "/login", component: () => import("./LoginPage.vue"), meta: { bare: true, title: "login.title" } }],
});

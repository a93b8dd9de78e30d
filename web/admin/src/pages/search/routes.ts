import { defineSection } from "../section";

export default defineSection({
  routes: [{ path: "/search", name: "search", component: () => import("./SearchPage.vue"), meta: { title: "search.title" } }],
});

import { DataLine } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [{ path: "/", name: "overview", component: () => import("./OverviewPage.vue"), meta: { title: "overview.title" } }],
  nav: [{ group: "business", order: 10, to: "/", title: "overview.title", icon: DataLine }],
});

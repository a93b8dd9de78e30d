import { Files } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    { path: "/jobs", name: "jobs", component: () => import("./JobsPage.vue"), meta: { title: "jobs.title" } },
    { path: "/jobs/:id(\\d+)", name: "job", component: () => import("./JobPage.vue"), meta: { title: "jobs.title" } },
  ],
  nav: [{ group: "money", order: 90, to: "/jobs", title: "jobs.title", icon: Files }],
});

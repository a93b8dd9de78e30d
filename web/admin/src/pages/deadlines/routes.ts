import { Timer } from "@element-plus/icons-vue";
import { defineSection } from "../section";

const meta = { permission: "timeout:read", everyShop: true };

export default defineSection({
  routes: [
    { path: "/deadlines", name: "deadlines", component: () => import("./DeadlinesPage.vue"), meta: { ...meta, title: "deadlines.title" } },
    { path: "/deadlines/failed", component: () => import("./FailedPage.vue"), meta: { ...meta, title: "deadlines.failed.title" } },
    { path: "/deadlines/waiting/:kind", component: () => import("./WaitingPage.vue"), meta: { ...meta, title: "deadlines.waiting.title" } },
  ],
  nav: [
    { group: "money", order: 10, to: "/deadlines", title: "deadlines.title", icon: Timer, permission: "timeout:read", badge: "dead_tasks" },
  ],
});

import { ChatLineSquare, Promotion } from "@element-plus/icons-vue";
import { defineSection } from "../section";

const meta = { permission: "subscribe:read", platform: true };

export default defineSection({
  routes: [
    { path: "/templates", component: () => import("./TemplateList.vue"), meta: { ...meta, title: "templates.title" } },
    {
      path: "/templates/:event([a-z_]+)",
      component: () => import("./TemplateEdit.vue"),
      props: true,
      meta: { ...meta, title: "templates.title" },
    },
    { path: "/subscribe-messages", component: () => import("./MessageList.vue"), meta: { ...meta, title: "templates.messages" } },
  ],
  nav: [
    { group: "settings", order: 30, to: "/templates", title: "templates.title", icon: ChatLineSquare, ...meta },
    { group: "settings", order: 31, to: "/subscribe-messages", title: "templates.messages", icon: Promotion, ...meta },
  ],
});

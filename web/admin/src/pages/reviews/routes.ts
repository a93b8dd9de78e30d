import { ChatLineSquare, View } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    {
      path: "/reviews",
      name: "reviews",
      component: () => import("./ReviewsPage.vue"),
      meta: { title: "reviews.title", permission: "review:read" },
    },
    {
      path: "/content-holds",
      name: "content-holds",
      component: () => import("./HoldsPage.vue"),
      meta: { title: "reviews.holds", permission: "review:read" },
    },
  ],
  nav: [
    { group: "business", order: 40, to: "/reviews", title: "reviews.title", icon: ChatLineSquare, permission: "review:read" },
    {
      group: "business",
      order: 50,
      to: "/content-holds",
      title: "reviews.holds",
      icon: View,
      permission: "review:read",
      badge: "content_holds",
    },
  ],
});

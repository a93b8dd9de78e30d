import { Van } from "@element-plus/icons-vue";
import { defineSection } from "../section";

export default defineSection({
  routes: [
    { path: "/freight", component: () => import("./FreightList.vue"), meta: { title: "freight.title", permission: "shipping:read" } },
    {
      path: "/freight/:id(new|\\d+)",
      component: () => import("./FreightEdit.vue"),
      props: true,
      meta: { title: "freight.title", permission: "shipping:read" },
    },
  ],
  nav: [{ group: "settings", order: 20, to: "/freight", title: "freight.title", icon: Van, permission: "shipping:read" }],
});

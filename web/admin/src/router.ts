import { createRouter, createWebHistory } from "vue-router";
import { sections } from "@/pages/section";
import { useSession } from "@/session";
import { t } from "@/i18n";
import NotFound from "@/shell/NotFound.vue";

export const router = createRouter({
  history: createWebHistory("/admin/"),
  routes: [...sections.flatMap((s) => s.routes), { path: "/:path(.*)*", component: NotFound, meta: { everyShop: true } }],
  scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? undefined : { top: 0 }),
});

router.beforeEach((to) => {
  const session = useSession();
  if (!session.token && !to.meta.bare) return { path: "/login", query: to.path === "/" ? {} : { next: to.fullPath } };
  return true;
});

router.afterEach((to) => {
  document.title = to.meta.title ? `${t(to.meta.title)} · Tidemall` : "Tidemall";
});

import { Bell, Connection, Money, ScaleToOriginal, Upload, WarnTriangleFilled } from "@element-plus/icons-vue";
import { defineSection } from "../section";

const money = { permission: "anomaly:read" };

export default defineSection({
  routes: [
    { path: "/anomalies", component: () => import("./AnomaliesPage.vue"), meta: { ...money, title: "money.anomalies.title" } },
    { path: "/anomalies/:id(\\d+)", component: () => import("./AnomalyPage.vue"), meta: { ...money, title: "money.anomalies.title" } },
    { path: "/late-payments", component: () => import("./LatePaymentsPage.vue"), meta: { ...money, title: "money.late.title" } },
    { path: "/callbacks", component: () => import("./CallbacksPage.vue"), meta: { ...money, title: "money.callbacks.title" } },
    {
      path: "/messages",
      component: () => import("./MessagesPage.vue"),
      meta: { permission: "message:read", title: "money.messages.title" },
    },
    {
      path: "/shipping-uploads",
      component: () => import("./UploadsPage.vue"),
      meta: { permission: "order:read", title: "money.uploads.title" },
    },
    { path: "/bills", component: () => import("./BillsPage.vue"), meta: { ...money, platform: true, title: "money.bills.title" } },
    { path: "/bills/:day", component: () => import("./BillPage.vue"), meta: { ...money, platform: true, title: "money.bills.title" } },
  ],
  nav: [
    { group: "money", order: 30, to: "/anomalies", title: "money.anomalies.title", icon: WarnTriangleFilled, badge: "anomalies", ...money },
    { group: "money", order: 40, to: "/late-payments", title: "money.late.title", icon: Money, ...money },
    { group: "money", order: 50, to: "/callbacks", title: "money.callbacks.title", icon: Bell, ...money },
    {
      group: "money",
      order: 60,
      to: "/messages",
      title: "money.messages.title",
      icon: Connection,
      badge: "dead_messages",
      permission: "message:read",
    },
    { group: "money", order: 70, to: "/shipping-uploads", title: "money.uploads.title", icon: Upload, permission: "order:read" },
    { group: "money", order: 80, to: "/bills", title: "money.bills.title", icon: ScaleToOriginal, platform: true, ...money },
  ],
});

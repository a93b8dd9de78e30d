import { FolderOpened, Goods } from "@element-plus/icons-vue";
import { defineSection } from "@/pages/section";

export default defineSection({
  routes: [
    { path: "/products", component: () => import("./ProductList.vue"), meta: { title: "products.title", permission: "catalog:read" } },
    {
      path: "/products/new",
      component: () => import("./ProductEditor.vue"),
      meta: { title: "products.new", permission: "catalog:write", page: "product" },
    },
    {
      path: "/products/:id(\\d+)",
      component: () => import("./ProductEditor.vue"),
      meta: { title: "products.one", permission: "catalog:read", page: "product" },
    },
    {
      path: "/products/:id(\\d+)/skus/:sku(\\d+)",
      component: () => import("./SkuLedger.vue"),
      meta: { title: "products.ledger.title", permission: "catalog:read" },
    },
    {
      path: "/categories",
      component: () => import("./CategoryTree.vue"),
      meta: { title: "products.tree.title", permission: "catalog:read" },
    },
  ],
  nav: [
    { group: "goods", order: 10, to: "/products", title: "products.title", icon: Goods, permission: "catalog:read" },
    { group: "goods", order: 20, to: "/categories", title: "products.tree.title", icon: FolderOpened, permission: "catalog:read" },
  ],
});

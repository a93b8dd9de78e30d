import { computed } from "vue";
import { api, call } from "@/api/client";
import { useLoad } from "@/composables/useLoad";
import { useSession } from "@/session";

/** A category with what is below it. */
export interface CategoryNode {
  id: number;
  parent_id?: number;
  name: string;
  sort: number;
  version: number;
  children: CategoryNode[];
}

/** The merchant's tree of categories, and the whole name of each: 服饰 / 上衣. */
export function useCategories() {
  const session = useSession();
  const loaded = useLoad<CategoryNode[]>(
    async (signal) => (await call(api.GET("/api/admin/v1/categories", { signal }))).list,
    [() => session.merchantId],
  );
  const tree = computed(() => loaded.data.value ?? []);
  const names = computed(() => {
    const all = new Map<number, string>();
    const walk = (nodes: CategoryNode[], above: string) => {
      for (const n of nodes) {
        all.set(n.id, above + n.name);
        walk(n.children, `${above}${n.name} / `);
      }
    };
    walk(tree.value, "");
    return all;
  });
  return { ...loaded, tree, names };
}

/** How el-tree and el-tree-select read a node. */
export const treeProps = { label: "name", children: "children", value: "id" };

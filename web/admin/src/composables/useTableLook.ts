import { reactive, watch } from "vue";

/** How a person wants a table: the columns they hid, by key, and whether its rows are low. */
export interface TableLook {
  hidden: string[];
  compact: boolean;
}

/** The look of the table of this name, kept in the browser. */
export function useTableLook(name: string): TableLook {
  const key = `tidemall.table.${name}`;
  const look = reactive(kept(key));
  watch(look, () => localStorage.setItem(key, JSON.stringify(look)));
  return look;
}

function kept(key: string): TableLook {
  try {
    const { hidden, compact } = JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<TableLook>;
    return { hidden: Array.isArray(hidden) ? hidden : [], compact: compact === true };
  } catch {
    return { hidden: [], compact: false };
  }
}

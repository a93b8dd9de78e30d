import type { Component } from "vue";
import type { RouteRecordRaw } from "vue-router";

export type NavGroup = "business" | "goods" | "marketing" | "money" | "settings";

/** What waits for a person, by kind, as GET /report/todo counts it. */
export type TodoKind = "to_ship" | "aftersales" | "content_holds" | "anomalies" | "dead_tasks" | "dead_messages";

/** A line of the menu. */
export interface NavEntry {
  group: NavGroup;
  /** Where in its group: smaller is higher. */
  order: number;
  to: string;
  /** Key of its text. */
  title: string;
  icon: Component;
  permission?: string;
  /** Only for admins of the platform. */
  platform?: boolean;
  /** Shown with the count of what waits. */
  badge?: TodoKind;
}

/**
 * A section of the panel: a folder of `pages` whose `routes.ts` exports one as default. Routes say in `meta` what they need:
 * `permission`, `platform`, and `title` (a text's key, for the window's title).
 */
export interface Section {
  routes: RouteRecordRaw[];
  nav?: NavEntry[];
}

// A declared function, because the sections' files call it while this one, which gathers them, is still being read.
export function defineSection(section: Section): Section {
  return section;
}

const found = import.meta.glob<{ default: Section }>("./*/routes.ts", { eager: true });

export const sections: Section[] = Object.values(found).map((m) => m.default);

declare module "vue-router" {
  interface RouteMeta {
    permission?: string;
    platform?: boolean;
    /** Shows all merchants' things, or none's, while an admin of the platform has chosen no merchant; others show the first one's. */
    everyShop?: boolean;
    title?: string;
    /** Routes with the same one share a page, which stays as it is on the way from one to the other. */
    page?: string;
    /** Shown without menu, also to those who are not logged in. */
    bare?: boolean;
  }
}

// What waits for a person, for the menu's counts: asked for every half minute while the page is seen.
import { defineStore } from "pinia";
import { ref } from "vue";
import { api, call } from "@/api/client";
import type { TodoKind } from "@/pages/section";
import { useSession } from "@/session";

const interval = 30_000;

export const useTodo = defineStore("todo", () => {
  const counts = ref<Partial<Record<TodoKind, number>>>({});

  async function refresh(): Promise<void> {
    const session = useSession();
    if (!session.token || document.hidden) return;
    try {
      counts.value = await call(api.GET("/api/admin/v1/report/todo"));
    } catch {
      // The counts are an addition: the page that is open says what is wrong, if anything is.
    }
  }

  /** Starts asking; returns what stops it. */
  function start(): () => void {
    void refresh();
    const timer = window.setInterval(() => void refresh(), interval);
    return () => window.clearInterval(timer);
  }

  return { counts, refresh, start };
});

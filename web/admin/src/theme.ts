import { ref, watchEffect } from "vue";

export type Theme = "light" | "dark" | "system";

const key = "tidemall.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const systemDark = ref(dark.matches);
dark.addEventListener("change", (e) => (systemDark.value = e.matches));

const stored = localStorage.getItem(key);
export const theme = ref<Theme>(stored === "light" || stored === "dark" ? stored : "system");

export function setTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(key, next);
}

/** Whether the page is dark now. */
export const isDark = ref(false);

/** Follows the choice and the system from now on. */
export function followTheme(): void {
  watchEffect(() => {
    isDark.value = theme.value === "dark" || (theme.value === "system" && systemDark.value);
    document.documentElement.classList.toggle("dark", isDark.value);
  });
}

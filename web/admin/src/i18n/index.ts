// Chinese by default, English by a switch; the choice is kept in the browser.
import { computed } from "vue";
import { createI18n } from "vue-i18n";
import common from "./common";
import type { Texts } from "./define";

export type Language = "zh" | "en";

const sections = import.meta.glob<{ default: { zh: Texts; en: Texts } }>("../{pages,jobs}/**/messages.ts", { eager: true });

function gather(language: Language): Texts {
  const all: Texts = { ...common[language] };
  for (const [file, section] of Object.entries(sections)) {
    const folder = file.split("/").at(-2) ?? "";
    all[folder] = section.default[language];
  }
  return all;
}

const key = "tidemall.language";

export const i18n = createI18n({
  legacy: false,
  locale: localStorage.getItem(key) === "en" ? "en" : "zh",
  fallbackLocale: "zh",
  messages: { zh: gather("zh"), en: gather("en") },
});

export const language = computed<Language>(() => i18n.global.locale.value as Language);

export function setLanguage(next: Language): void {
  i18n.global.locale.value = next;
  localStorage.setItem(key, next);
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
}

/** Text by its key, outside of components: `t("orders.title")`. Inside, it follows the language by itself in templates. */
export const t = i18n.global.t;

import "element-plus/dist/index.css";
import "element-plus/theme-chalk/dark/css-vars.css";
import "@/styles/tokens.css";
import "@/styles/base.css";
import { createPinia } from "pinia";
import { createApp } from "vue";
import App from "@/App.vue";
import { i18n, language, setLanguage } from "@/i18n";
import { router } from "@/router";
import { followTheme } from "@/theme";

followTheme();
setLanguage(language.value);
createApp(App).use(createPinia()).use(i18n).use(router).mount("#app");

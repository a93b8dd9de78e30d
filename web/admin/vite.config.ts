import { fileURLToPath } from "node:url";
import vue from "@vitejs/plugin-vue";
import Components from "unplugin-vue-components/vite";
import { ElementPlusResolver } from "unplugin-vue-components/resolvers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/admin/",
  plugins: [vue(), Components({ dirs: [], dts: false, resolvers: [ElementPlusResolver({ importStyle: false })] })],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  define: { __VUE_I18N_LEGACY_API__: false, __VUE_I18N_FULL_INSTALL__: false, __INTLIFY_PROD_DEVTOOLS__: false },
  build: {
    // Small files would become data: addresses, which the policy about fonts and styles does not need to allow.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
  },
  // While developing: `npm run dev` beside a shop on its usual port.
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/files": "http://127.0.0.1:8080" } },
  test: { environment: "happy-dom", include: ["src/**/*.test.ts"] },
});

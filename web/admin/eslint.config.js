import vue from "eslint-plugin-vue";
import { globalIgnores } from "eslint/config";
import ts from "typescript-eslint";

export default ts.config(
  globalIgnores(["dist/**", "node_modules/**", "src/api/schema.d.ts", "e2e/shots/**"]),
  ...ts.configs.recommended,
  ...vue.configs["flat/recommended"],
  {
    files: ["**/*.vue"],
    languageOptions: { parserOptions: { parser: ts.parser } },
    rules: {
      // Prettier breaks lines.
      "vue/max-attributes-per-line": "off",
      "vue/singleline-html-element-content-newline": "off",
      "vue/html-self-closing": "off",
      "vue/html-indent": "off",
      "vue/html-closing-bracket-newline": "off",
      "vue/multiline-html-element-content-newline": "off",
      // Optional properties without a default are undefined, which their types say.
      "vue/require-default-prop": "off",
      // Text from the server is shown as text.
      "vue/no-v-html": "error",
    },
  },
  { rules: { "@typescript-eslint/no-explicit-any": "error", "no-console": "error" } },
);

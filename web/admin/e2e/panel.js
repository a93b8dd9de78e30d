// The panel in a real browser: logged in, watched for errors.
import assert from "node:assert/strict";
import { still, troubles, visit, widths } from "../../e2e/browser.js";
import { admin, onServers } from "../../e2e/shop.js";
import { mkdir } from "node:fs/promises";

export const shots = new URL("./shots/", import.meta.url).pathname;
await mkdir(shots, { recursive: true });

Object.assign(widths, { wide: { width: 1440, height: 900 } });

/**
 * The looks a page is photographed in: one load of the page for each language, its size and theme changed in between. axe reads each
 * theme and each size at least once.
 */
const looks = [
  {
    language: "zh",
    seen: [
      { size: "wide", scheme: "light", read: true },
      { size: "desktop", scheme: "dark", read: true },
      { size: "phone", scheme: "light" },
    ],
  },
  {
    language: "en",
    seen: [
      { size: "desktop", scheme: "light" },
      { size: "phone", scheme: "dark", read: true },
    ],
  },
];

/** For a test that does nothing but photograph. */
export const pictured = { skip: onServers && "the pages look the same on servers" };

/**
 * Opens `path` of the panel as the administrator (or with `token`) and calls `use` with the page and a caller of the API. Fails where
 * anything went wrong on the page; `expected` are patterns of console errors that the test provokes, such as /409/.
 */
export async function panel(browser, shop, path, use, { look = {}, token, expected = [] } = {}) {
  const api = await admin(shop);
  return visit(browser, look, [shop.url], async (page, wrong) => {
    await page.addInitScript(
      ([kept, language]) => {
        if (!localStorage.getItem("tidemall.session") && kept && !sessionStorage.getItem("tidemall.e2e")) {
          localStorage.setItem("tidemall.session", JSON.stringify({ token: kept }));
          sessionStorage.setItem("tidemall.e2e", "1");
        }
        if (!localStorage.getItem("tidemall.language")) localStorage.setItem("tidemall.language", language);
      },
      [token === undefined ? api.token : token, look.language ?? "zh"],
    );
    await page.goto(`${shop.url}/admin${path}`);
    const result = await use(page, api);
    assert.deepEqual(
      wrong.filter((w) => !expected.some((e) => e.test(w))),
      [],
    );
    return result;
  });
}

/** Waits until nothing loads any more: no skeleton, no spinner. */
export async function settled(page) {
  await page.waitForFunction(
    () =>
      !document.querySelector(".el-skeleton, [aria-busy=true], .el-loading-mask:not([style*='display: none'])") &&
      document.querySelector("main, .login"),
  );
}

/** Fails where axe finds something serious on the page, or the page is wider than the window. */
export async function accessible(page) {
  assert.deepEqual(await troubles(page), []);
}

/** Fails where the page is wider than the window. */
async function fits(page) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= window, `the page is ${wide} px wide, the window ${window}`);
}

/**
 * Photographs a page in every look into `shots/<name>-….png` and lets axe read it. `prepare` brings the page to what is to be seen.
 * On servers it does nothing, since the pages look the same there.
 */
export async function gallery(browser, shop, path, name, prepare = async () => {}, options = {}) {
  if (onServers) return;
  for (const { language, seen } of looks) {
    await panel(
      browser,
      shop,
      path,
      async (page) => {
        await settled(page);
        await prepare(page);
        for (const { size, scheme, read } of seen) {
          await page.setViewportSize(widths[size]);
          await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
          await page.waitForFunction((dark) => document.documentElement.classList.contains("dark") === dark, scheme === "dark");
          await still(page);
          await page.screenshot({ path: `${shots}${name}-${size}-${scheme}-${language}.png` });
          await (read ? accessible(page) : fits(page));
        }
      },
      { ...options, look: { ...options.look, size: "wide", language } },
    );
  }
}

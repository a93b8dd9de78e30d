// Chromium, and a page in it that reports whatever is wrong with it.
import { access, mkdir, readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const shots = new URL("./shots/", import.meta.url).pathname;
const axe = await readFile(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

export async function launch() {
  await mkdir(shots, { recursive: true });
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  await access(executablePath).catch(() => {
    throw new Error(`${executablePath} is not there: install chromium and fonts-noto-cjk, or name another browser with CHROMIUM`);
  });
  return chromium.launch({
    executablePath,
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
}

export const widths = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } };
export const looks = Object.keys(widths).flatMap((size) =>
  ["light", "dark"].flatMap((scheme) => ["zh", "en"].map((language) => ({ size, scheme, language }))),
);

// Opens a page and calls `use` with it and with the list of what went wrong on it: errors on the console, exceptions, failed
// requests and requests to anywhere but the origins named.
export async function visit(browser, { size = "desktop", scheme = "light", language = "zh" }, origins, use) {
  const context = await browser.newContext({
    viewport: widths[size],
    colorScheme: scheme,
    locale: language === "zh" ? "zh-CN" : "en-US",
    isMobile: size === "phone",
    hasTouch: size === "phone",
    bypassCSP: false,
  });
  const wrong = [];
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && wrong.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`exception: ${e.message}`));
  page.on("requestfailed", (r) => {
    // A page gives a request up where a newer one takes its place; that is no failure.
    if (r.failure()?.errorText !== "net::ERR_ABORTED") wrong.push(`failed: ${r.url()} ${r.failure()?.errorText}`);
  });
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && !origins.includes(url.origin)) wrong.push(`elsewhere: ${r.url()}`);
  });
  try {
    return await use(page, wrong);
  } finally {
    await context.close();
  }
}

export async function shoot(page, name) {
  await page.screenshot({ path: `${shots}${name}.png` });
}

// Waits until no colour or place is on its way to another.
export async function still(page) {
  await page.waitForFunction(() => !document.getAnimations().some((a) => a instanceof CSSTransition));
}

// What axe finds serious or critical, and whether anything is wider than the page. It is evaluated from outside the page, which
// the page's own policy about scripts does not concern.
export async function troubles(page, rules = {}) {
  await still(page); // a colour half way to another may contrast too little
  await page.evaluate(axe);
  const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), { resultTypes: ["violations"], rules });
  const found = violations
    .filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.any[0]?.message ?? ""}`).join("; ")}`);
  const [wide, wanted] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > wanted) found.push(`the page is ${wide} px wide, the window ${wanted}`);
  return found;
}

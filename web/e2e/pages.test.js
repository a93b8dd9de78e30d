// The landing page and the API's documentation.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launch, looks, shoot, troubles, visit } from "./browser.js";
import { serve } from "./shop.js";

let shop, browser;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const name = (look) => `${look.size}-${look.scheme}-${look.language}`;

describe("the landing page", () => {
  for (const look of looks) {
    test(name(look), async () => {
      await visit(browser, look, [shop.url], async (page, wrong) => {
        const reply = await page.goto(shop.url + "/");
        assert.equal(reply.status(), 200);
        await shoot(page, `home-${name(look)}`);
        assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Tidemall");
        assert.deepEqual(await troubles(page), []);
        for (const link of await page.locator("a[href^='/']").all()) {
          const path = await link.getAttribute("href");
          assert.equal((await fetch(shop.url + path)).status, 200, path);
        }
        await page.locator("a[href='/docs']").click();
        await page.waitForURL(shop.url + "/docs");
        assert.deepEqual(wrong, []);
      });
    });
  }

  test("a path that is no page is not found, and an API path is answered with a problem", async () => {
    assert.equal((await fetch(shop.url + "/no-such-page")).status, 404);
    const api = await fetch(shop.url + "/api/v1/nothing", { headers: { Accept: "text/html" } });
    assert.equal(api.status, 404);
    assert.match(api.headers.get("content-type"), /^application\/problem\+json/);
  });
});

describe("the API's documentation", () => {
  for (const size of ["phone", "desktop"]) {
    test(size, async () => {
      await visit(browser, { size }, [shop.url], async (page, wrong) => {
        await page.goto(shop.url + "/docs");
        await page.locator(".opblock").first().waitFor();
        const operations = await page.locator(".opblock").count();
        assert.ok(operations >= 80, `${operations} operations are shown`);
        await shoot(page, `docs-${size}`);
        const place = page.locator(".opblock-post", { has: page.locator("[data-path='/api/v1/orders']") });
        await place.locator(".opblock-summary-control").first().click();
        await place.locator(".opblock-body .responses-table").waitFor();
        await place.scrollIntoViewIfNeeded();
        await shoot(page, `docs-${size}-place`);
        assert.deepEqual(wrong, []);
      });
    });
  }
});

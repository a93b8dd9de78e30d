// The sandbox's pages: a person pays an order that was placed through the API.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launch, looks, shoot, troubles, visit, widths } from "./browser.js";
import { admin, buy, caller, serve, shopper, until } from "./shop.js";

let shop, browser, ann;
before(async () => {
  [shop, browser] = await Promise.all([serve(), launch()]);
  ann = await shopper(shop, "ann");
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});

const words = {
  zh: { pay: "立即支付", fail: "模拟支付失败", dismiss: "暂不支付", again: "重新支付", back: "返回商家", ok: "支付成功", failed: "支付失败", dismissed: "已取消支付", late: "支付已超时", missing: "找不到这笔支付" },
  en: { pay: "Pay now", fail: "Simulate a failure", dismiss: "Not now", again: "Pay again", back: "Back to the shop", ok: "Paid", failed: "Payment failed", dismissed: "Payment dismissed", late: "Too late to pay", missing: "No such payment" },
};
const name = (look) => `${look.size}-${look.scheme}-${look.language}`;
const cashier = (prepay, payment) =>
  `${shop.sandbox}/sandbox/cashier?prepay_id=${prepay}&return_url=${encodeURIComponent(shop.url + "/")}` +
  (payment ? "#" + encodeURIComponent(JSON.stringify(payment)) : "");
const button = (page, text) => page.getByRole("button", { name: text, exact: true });
const heading = (page, text) => page.getByRole("heading", { name: text, exact: true });

describe("the cashier", () => {
  for (const look of looks) {
    test(name(look), async () => {
      const say = words[look.language];
      const { order, payment, prepay } = await buy(ann);
      await visit(browser, look, [shop.url, shop.sandbox], async (page, wrong) => {
        const photo = (step) => shoot(page, `cashier-${step}-${name(look)}`);
        await page.goto(cashier(prepay, payment));
        await page.getByText(`¥${(order.payable_fen / 100).toFixed(2)}`).waitFor();
        await page.getByText(order.lines[0].name).waitFor();
        await page.waitForFunction(() => /\d/.test(document.getElementById("left").textContent));
        await photo("open");
        assert.deepEqual(await troubles(page), []);

        await button(page, say.fail).click();
        await heading(page, say.failed).waitFor();
        await photo("failed");
        assert.deepEqual(await troubles(page), []);
        assert.equal((await ann("GET", `/api/v1/orders/${order.no}`)).status, "pending_payment");

        await button(page, say.again).click();
        await button(page, say.dismiss).click();
        await heading(page, say.dismissed).waitFor();
        await photo("dismissed");
        assert.deepEqual(await troubles(page), []);

        await button(page, say.again).click();
        await button(page, say.pay).click();
        await heading(page, say.ok).waitFor();
        await photo("paid");
        assert.deepEqual(await troubles(page), []);
        await until("the shop knows of the payment", async () => (await ann("GET", `/api/v1/orders/${order.no}`)).status === "paid");

        await page.reload(); // the same number again
        await heading(page, say.ok).waitFor();
        assert.equal(await button(page, say.pay).isVisible(), false);
        await page.getByRole("link", { name: say.back }).click();
        await page.waitForURL(shop.url + "/");
        assert.deepEqual(wrong, []);
      });
    });
  }

  for (const language of ["zh", "en"]) {
    test(`a closed number and one that is unknown, ${language}`, async () => {
      const { order, prepay } = await buy(ann);
      await ann("POST", `/api/v1/orders/${order.no}/cancel`);
      await visit(browser, { size: "phone", language }, [shop.url, shop.sandbox], async (page, wrong) => {
        await page.goto(cashier(prepay));
        await heading(page, words[language].late).waitFor();
        assert.equal(await button(page, words[language].pay).isVisible(), false);
        await shoot(page, `cashier-closed-phone-${language}`);
        assert.deepEqual(await troubles(page), []);
        assert.deepEqual(wrong, []);
        await page.goto(cashier("wx-unknown"));
        await heading(page, words[language].missing).waitFor();
        await shoot(page, `cashier-unknown-phone-${language}`);
        assert.deepEqual(await troubles(page), []);
      });
    });
  }

  test("a number that is closed while the sheet is open", async () => {
    const { order, prepay } = await buy(ann);
    await visit(browser, { size: "phone" }, [shop.url, shop.sandbox], async (page) => {
      await page.goto(cashier(prepay));
      await ann("POST", `/api/v1/orders/${order.no}/cancel`);
      await button(page, words.zh.pay).click();
      await heading(page, words.zh.late).waitFor();
    });
    assert.equal((await ann("GET", `/api/v1/orders/${order.no}`)).status, "closed");
  });

  test("parameters that are not what the shop signed are refused", async () => {
    const { order, payment, prepay } = await buy(ann);
    await visit(browser, { size: "phone" }, [shop.url, shop.sandbox], async (page) => {
      await page.goto(cashier(prepay, { ...payment, nonceStr: "forged" }));
      await button(page, words.zh.pay).click();
      await heading(page, words.zh.failed).waitFor();
      await shoot(page, "cashier-forged-phone-zh");
    });
    assert.equal((await ann("GET", `/api/v1/orders/${order.no}`)).status, "pending_payment");
  });

  test("with the keyboard alone", async () => {
    const { order, prepay } = await buy(ann);
    await visit(browser, {}, [shop.url, shop.sandbox], async (page, wrong) => {
      await page.goto(cashier(prepay));
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.id), "pay");
      await shoot(page, "cashier-focus-desktop-zh");
      await page.keyboard.press("Enter");
      await heading(page, words.zh.ok).waitFor();
      assert.deepEqual(wrong, []);
    });
    await until("the shop knows of the payment", async () => (await ann("GET", `/api/v1/orders/${order.no}`)).status === "paid");
  });
});

test("the sandbox's front page lists what waits to be paid", async () => {
  const bob = await shopper(shop, "bob");
  const { order, prepay } = await buy(bob);
  for (const look of looks) {
    await visit(browser, look, [shop.sandbox], async (page, wrong) => {
      await page.goto(shop.sandbox + "/");
      await shoot(page, `sandbox-${name(look)}`);
      assert.deepEqual(await troubles(page, { "meta-refresh": { enabled: false } }), []); // a list for developers that follows what happens
      const link = page.locator(`a[href$="prepay_id=${prepay}"]`);
      assert.ok((await link.boundingBox()).x < widths[look.size].width, "the link to the cashier is in sight");
      await link.click();
      await page.getByText(order.lines[0].name).waitFor();
      assert.deepEqual(wrong, []);
    });
  }
  const empty = await caller(shop.sandbox)("GET", "/sandbox/transactions?state=NOTPAY");
  assert.ok(empty.list.some((t) => t.out_trade_no.startsWith(order.no)));
});

test("an order that nobody pays closes while its sheet is open", async () => {
  const boss = await admin(shop);
  await boss("POST", "/api/admin/v1/timeout-policies", { stage: "pay", duration_ms: 15_000, order_type: "goods" });
  const carl = await shopper(shop, "carl");
  const { order, prepay } = await buy(carl);
  await visit(browser, { size: "phone" }, [shop.url, shop.sandbox], async (page) => {
    await page.goto(cashier(prepay));
    const closed = await until("the order is closed", async () => {
      const o = await carl("GET", `/api/v1/orders/${order.no}`);
      return o.status === "closed" && o;
    }, 30_000);
    assert.equal(closed.close_reason, "timeout");
    await page.reload();
    await heading(page, words.zh.late).waitFor();
  });
});

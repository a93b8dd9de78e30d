// The cashier plays the sheet that WeChat shows over a mini-program. The parameters of
// wx.requestPayment may follow the address as #<JSON>; they are then verified as a phone
// would. The page that opened or framed this one hears the outcome by message:
// {source: "tidemall-cashier", prepay_id, result: "ok" | "fail" | "cancel" | "expired"}.
(() => {
  "use strict";
  const sheet = document.getElementById("sheet");
  if (!sheet) return;
  const $ = (id) => document.getElementById(id);
  const prepay = sheet.dataset.prepay;
  const expires = Number(sheet.dataset.expires);
  const buttons = [$("pay"), $("fail"), $("dismiss")];
  const payText = $("pay").textContent;
  const failText = $("why").textContent;

  function requestPayment() {
    try {
      return JSON.parse(decodeURIComponent(location.hash.slice(1))) || undefined;
    } catch {
      return undefined;
    }
  }

  function tell(result) {
    const target = window.opener || (window.parent !== window ? window.parent : null);
    if (target) target.postMessage({ source: "tidemall-cashier", prepay_id: prepay, result }, "*");
  }

  function show(result, why) {
    $("ask").hidden = true;
    for (const s of document.querySelectorAll("[data-result]")) s.hidden = s.dataset.result !== result;
    $("why").textContent = why || failText;
    $("again").hidden = result !== "fail" && result !== "cancel";
    if ($("back")) $("back").hidden = false;
    tell(result);
  }

  function ask() {
    for (const s of document.querySelectorAll("[data-result]")) s.hidden = true;
    $("again").hidden = true;
    if ($("back")) $("back").hidden = true;
    $("ask").hidden = false;
    busy(false);
  }

  function busy(on) {
    for (const b of buttons) b.disabled = on;
    $("pay").textContent = on ? sheet.dataset.paying : payText;
  }

  async function pay(result) {
    busy(true);
    const body = { prepay_id: prepay, result };
    const params = requestPayment();
    if (params) body.request_payment = params;
    try {
      const reply = await fetch("/sandbox/pay", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      const data = await reply.json();
      if (reply.ok) show(result === "SUCCESS" ? "ok" : "fail");
      else if (data.code === "ORDER_PAID") show("ok");
      else if (["ORDER_CLOSED", "ORDER_EXPIRED", "PREPAY_EXPIRED"].includes(data.code)) show("expired");
      else show("fail", data.message);
    } catch {
      show("fail", sheet.dataset.unreachable);
    }
  }

  function tick() {
    const left = Math.max(0, Math.ceil((expires - Date.now()) / 1000));
    const parts = [Math.floor(left / 60) % 60, left % 60];
    if (left >= 3600) parts.unshift(Math.floor(left / 3600));
    $("left").textContent = parts.map((n) => String(n).padStart(2, "0")).join(":");
    if (left > 0) setTimeout(tick, 1000 - (Date.now() % 1000));
    else if (!$("ask").hidden) show("expired");
  }

  $("pay").addEventListener("click", () => pay("SUCCESS"));
  $("fail").addEventListener("click", () => pay("FAIL"));
  $("dismiss").addEventListener("click", () => show("cancel"));
  $("again").addEventListener("click", ask);
  if (sheet.dataset.state === "NOTPAY") tick();
})();

import { afterEach, expect, test } from "vitest";
import { i18n } from "@/i18n";
import { verbOf } from "./words";

afterEach(() => void (i18n.global.locale.value = "zh"));

test.each([
  ["admin-post-coupons", "新建", "Add"],
  ["admin-post-coupons-by-id-stop", "停止发放", "Stop claims"],
  ["admin-post-coupons-by-id-resume", "恢复发放", "Resume claims"],
  ["admin-post-timeouts-retry-all", "全部重试", "Retry all"],
  ["admin-post-auth-totp-confirm", "开启两步验证", "Second factor on"],
  ["admin-post-auth-totp-recovery-codes", "更换恢复码", "Replace recovery codes"],
  ["admin-post-jobs-ship-batch", "批量发货", "Batch ship"],
  ["admin-post-jobs-product-import", "导入", "Import"],
  ["admin-delete-timeout-policies-by-id-retime", "取消重算", "Cancel re-timing"],
  ["admin-post-things-that-are-no-more", "修改", "Change"],
])("%s reads %s", (action, zh, en) => {
  expect(verbOf(action)).toBe(zh);
  i18n.global.locale.value = "en";
  expect(verbOf(action)).toBe(en);
});

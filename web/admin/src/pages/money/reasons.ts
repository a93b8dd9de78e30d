// Why callbacks were refused; a reason that one of the languages lacks does not compile.
import type { components } from "@/api/schema";

type Reason = NonNullable<components["schemas"]["AdminCallback"]["reason"]>;
type Refusal = components["schemas"]["AdminRefusedSum"]["reason"];
type Difference = Exclude<components["schemas"]["AdminBillDifference"]["kind"], components["schemas"]["AdminAnomaly"]["kind"]>;

export const reasonsZh: Record<Reason, string> = {
  malformed: "内容读不懂",
  unknown: "单号不是本店的",
  unavailable: "数据库暂不可用，微信会重发",
  failed: "处理出错，微信会重发",
  misfit_event_type: "事件类型不符",
  misfit_original_type: "数据类型不符",
  misfit_trade_state: "交易状态不符",
  misfit_refund_status: "退款状态不符",
  misfit_appid: "AppID 不符",
  misfit_mchid: "商户号不符",
  misfit_currency: "币种不符",
  misfit_amount: "金额不符",
  misfit_amount_refund: "退款金额不符",
  misfit_amount_total: "原支付金额不符",
  misfit_transaction_id: "微信单号不符",
  misfit_out_trade_no: "商户单号不符",
};
export const reasonsEn: Record<Reason, string> = {
  malformed: "cannot be read",
  unknown: "not a number of the shop's",
  unavailable: "the database was away; sent again",
  failed: "failed here; sent again",
  misfit_event_type: "event type does not fit",
  misfit_original_type: "data type does not fit",
  misfit_trade_state: "trade state does not fit",
  misfit_refund_status: "refund status does not fit",
  misfit_appid: "AppID does not fit",
  misfit_mchid: "merchant id does not fit",
  misfit_currency: "currency does not fit",
  misfit_amount: "amount does not fit",
  misfit_amount_refund: "refunded amount does not fit",
  misfit_amount_total: "amount of the payment does not fit",
  misfit_transaction_id: "transaction id does not fit",
  misfit_out_trade_no: "number does not fit",
};

type Refused = { word: string; next: string };
export const refusalsZh: Record<Refusal, Refused> = {
  unsigned: { word: "没有签名", next: "多为扫描器，无需处理。" },
  stale: { word: "签名过期", next: "若持续出现，检查服务器的时钟。" },
  probe: { word: "微信的验签探测", next: "微信有意发来的错误签名，拒绝是对的。" },
  signature: { word: "签名错误", next: "若同时收不到正常回调，检查微信支付公钥和 APIv3 密钥。" },
  unready: { word: "证书暂不可用", next: "检查能否访问微信的证书接口。" },
  unreadable: { word: "无法读取", next: "多为扫描器，无需处理。" },
};
export const refusalsEn: Record<Refusal, Refused> = {
  unsigned: { word: "Not signed", next: "Mostly scanners: nothing to do." },
  stale: { word: "Too old", next: "If it goes on, check the server's clock." },
  probe: { word: "WeChat's own probe", next: "WeChat sends wrong signatures on purpose; refusing them is right." },
  signature: { word: "Wrong signature", next: "If no good ones arrive, check WeChat's public key and the APIv3 key." },
  unready: { word: "No certificates", next: "Check that WeChat's certificates can be fetched." },
  unreadable: { word: "Unreadable", next: "Mostly scanners: nothing to do." },
};

export const foundZh: Record<Difference, string> = { payment_found: "账单补记的支付", refund_found: "账单补记的退款" };
export const foundEn: Record<Difference, string> = {
  payment_found: "Payment learned by the bill",
  refund_found: "Refund learned by the bill",
};

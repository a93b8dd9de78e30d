// What each kind of anomaly is, what happened, and what to do next. A kind that the server has and one of the languages lacks does not
// compile.
import type { components } from "@/api/schema";

export type AnomalyKind = components["schemas"]["AdminAnomaly"]["kind"];
type Words = { word: string; what: string; next: string };

const ownMoney = {
  zh: "款项不会因此入账或退出。",
  en: "No money was booked or paid back because of it.",
};

/** What resolving does to an order that waits for it. */
const thenCloses = {
  zh: "处理后，若该订单正在关闭，会关闭并释放库存与优惠券。",
  en: "Once it is resolved, an order that is closing closes, and gives its stock and coupon back.",
};

export const kindsZh: Record<AnomalyKind, Words> = {
  late_payment: {
    word: "迟到支付",
    what: "买家付款时，订单已关闭、已支付或已改价，这笔钱不是订单的款项。系统已自动发起全额退款。",
    next: "看退款状态：已退款即可填写说明并处理；退款异常或失败时，先在微信商户平台退回。",
  },
  payment_mismatch_appid: {
    word: "支付的小程序不符",
    what: `微信通知里的 AppID 不是本店的。${ownMoney.zh}`,
    next: `核对配置的 wechat.app_id；在微信商户平台按商户单号查这笔款，确认归属后填写说明。${thenCloses.zh}`,
  },
  payment_mismatch_mchid: {
    word: "支付的商户号不符",
    what: `微信通知里的商户号不是本店的。${ownMoney.zh}`,
    next: `核对配置的 wechat.mch_id；确认是不是别的商户号共用了回调地址。${thenCloses.zh}`,
  },
  payment_mismatch_currency: {
    word: "支付币种不符",
    what: `微信通知里的币种不是人民币。${ownMoney.zh}`,
    next: `在微信商户平台查这笔款，按实际到账退回或补记，再填写说明。${thenCloses.zh}`,
  },
  payment_mismatch_amount: {
    word: "支付金额不符",
    what: `微信说的支付金额与本店请求的金额不同。${ownMoney.zh}订单若正在关闭，会停下等人处理。`,
    next: `在微信商户平台按商户单号查实收金额：实收正确则等微信重发；实收不符则在商户平台退款，再填写说明。${thenCloses.zh}`,
  },
  payment_mismatch_transaction_id: {
    word: "微信单号不符",
    what: "同一个商户单号出现了第二个微信支付单号，或同一微信单号属于别的订单。",
    next: `在微信商户平台分别查两个单号，多收的退回买家，再填写说明。${thenCloses.zh}`,
  },
  unknown_payment: {
    word: "未知的支付",
    what: "微信报告了一笔支付，商户单号不是本店开出的。",
    next: "确认商户号是否还有别的系统在用；不是的话在微信商户平台退款，再填写说明。",
  },
  foreign_refund: {
    word: "店外退款",
    what: "这笔支付在微信已有退款，但不是本店发起的。订单的发货已被暂停。",
    next: "查是谁在商户平台退的款：全额退款的请关闭订单；确认要继续履约的，填写说明后即可发货。",
  },
  unknown_refund: {
    word: "未知的退款",
    what: "微信报告了一笔退款，退款单号不是本店的。",
    next: "查商户平台的退款记录，确认由谁发起，再填写说明。",
  },
  refund_mismatch: {
    word: "退款不符",
    what: "微信说的退款与本店的记录对不上：金额、单号不同，或本店已放弃的退款又成功了。",
    next: "以微信商户平台的实退金额为准，与买家核对差额后填写说明。",
  },
  refund_failed: {
    word: "退款失败",
    what: "微信拒绝了这笔退款，系统不会再试。钱还没有退给买家。",
    next: "按微信给出的原因处理；在商户平台退款，或从订单页重新发起退款，再填写说明。",
  },
  refund_abnormal: {
    word: "退款异常",
    what: "微信无法把钱退回原路（如买家的卡已注销）。钱还没有退给买家。",
    next: "在微信商户平台的「退款异常」里改退到买家其他账户；完成后系统会自己查到，并标为已处理。",
  },
  refund_waiting: {
    word: "退款在等待",
    what: "微信暂时不接受这笔退款，多半是商户可用余额不足。系统会继续重试。",
    next: "给商户号充值或等待资金结算，并处理微信给出的原因；退款成功后本异常自动标为已处理。",
  },
  wechat_trade_controlled: {
    word: "交易被微信管控",
    what: "微信限制了小程序的支付能力，直到按规定上传发货信息。",
    next: "到「发货上传」处理被拒绝的记录，再到微信公众平台申请解除。",
  },
  wechat_shipping_unmanaged: {
    word: "未接入发货管理",
    what: "微信提示小程序要通过接口上传发货信息。",
    next: "在微信公众平台开通「发货信息管理」，确认「发货上传」里的记录已上传。",
  },
  bill_payment_differs: {
    word: "对账：支付不符",
    what: "微信对账单里的这笔支付，与本店记录的金额、单号或状态不同。",
    next: "以商户平台的实收为准；对账单更正后再次对账会自动处理，否则查清后填写说明。",
  },
  bill_refund_differs: {
    word: "对账：退款不符",
    what: "微信对账单里的这笔退款，与本店记录的状态不同。",
    next: "在商户平台查退款是否到账，必要时补退，再填写说明。",
  },
  bill_payment_missing: {
    word: "对账：账单缺支付",
    what: "本店记录了这笔支付，微信的对账单里却没有。",
    next: "隔天再次对账；仍没有的，拿微信支付单号到商户平台查询，再填写说明。",
  },
  bill_refund_missing: {
    word: "对账：账单缺退款",
    what: "本店记录退款成功，微信的对账单里却没有。",
    next: "隔天再次对账；仍没有的，到商户平台查退款是否到账，再填写说明。",
  },
  bill_failed: {
    word: "对账失败",
    what: "这一天的对账单取不到：微信拒绝、文件读不懂、过了一天仍未取到，或已超过三个月。这一天的钱没有核对过。",
    next: "看下面的原因，到「对账」重新运行这一天，未取到的也会自动再取；成功后本条会自动处理。超过三个月的，从商户平台下载账单人工核对。",
  },
};

export const kindsEn: Record<AnomalyKind, Words> = {
  late_payment: {
    word: "Late payment",
    what: "When the shopper paid, the order was closed, paid or re-priced: the money is not the order's. It is being refunded in full by itself.",
    next: "Look at the refund: once it succeeded, resolve with a note. Where it is abnormal or failed, refund in WeChat's merchant platform first.",
  },
  payment_mismatch_appid: {
    word: "Payment of another app",
    what: `WeChat's notification names an AppID that is not the shop's. ${ownMoney.en}`,
    next: `Check wechat.app_id; look the number up in WeChat's merchant platform, find out whose money it is, and note it. ${thenCloses.en}`,
  },
  payment_mismatch_mchid: {
    word: "Payment of another merchant id",
    what: `WeChat's notification names a merchant id that is not the shop's. ${ownMoney.en}`,
    next: `Check wechat.mch_id, and whether another merchant id uses this address for its callbacks. ${thenCloses.en}`,
  },
  payment_mismatch_currency: {
    word: "Payment in another currency",
    what: `WeChat's notification names a currency other than CNY. ${ownMoney.en}`,
    next: `Look the payment up in WeChat's merchant platform, refund or book what arrived, and note it. ${thenCloses.en}`,
  },
  payment_mismatch_amount: {
    word: "Amount of a payment differs",
    what: `WeChat says another amount than the shop asked for. ${ownMoney.en} An order that is closing waits for a person.`,
    next: `Look the number up in WeChat's merchant platform. Is the amount right there, wait for WeChat to send again; is it wrong, refund it there, and note it. ${thenCloses.en}`,
  },
  payment_mismatch_transaction_id: {
    word: "Transaction id differs",
    what: "One number of ours has a second transaction at WeChat, or one transaction belongs to another order.",
    next: `Look both transactions up in WeChat's merchant platform, pay back what was taken twice, and note it. ${thenCloses.en}`,
  },
  unknown_payment: {
    word: "Unknown payment",
    what: "WeChat reports a payment for a number that the shop did not make.",
    next: "Find out whether another system uses the merchant id; if none does, refund it in WeChat's merchant platform, and note it.",
  },
  foreign_refund: {
    word: "Refund made elsewhere",
    what: "The payment has a refund at WeChat that the shop did not make. Shipping the order is held.",
    next: "Find out who refunded it: close an order refunded in full; to ship it after all, resolve with a note.",
  },
  unknown_refund: {
    word: "Unknown refund",
    what: "WeChat reports a refund whose number is not the shop's.",
    next: "Find out in WeChat's merchant platform who made it, and note it.",
  },
  refund_mismatch: {
    word: "Refund differs",
    what: "What WeChat says of a refund does not fit: another amount or number, or one that the shop had given up succeeded.",
    next: "What WeChat paid back counts; settle the difference with the shopper, and note it.",
  },
  refund_failed: {
    word: "Refund failed",
    what: "WeChat refused the refund for good. The shopper does not have the money.",
    next: "Mend what WeChat names; refund in its merchant platform or anew on the order's page, and note it.",
  },
  refund_abnormal: {
    word: "Refund abnormal",
    what: "WeChat cannot give the money back the way it came, such as to a closed card. The shopper does not have it.",
    next: "Choose another account of the shopper's in WeChat's merchant platform; the shop then learns of it, and resolves this, by itself.",
  },
  refund_waiting: {
    word: "Refund waits",
    what: "WeChat does not take the refund yet, mostly for want of balance. It is tried again.",
    next: "Pay in at WeChat or wait for the settlement, and mend what WeChat names; once it succeeds, this is resolved by itself.",
  },
  wechat_trade_controlled: {
    word: "Payments restricted by WeChat",
    what: "WeChat restricts the mini-program's payments until shipping information is uploaded by its rules.",
    next: "Mend what is refused under Shipping uploads, then ask WeChat to lift the restriction.",
  },
  wechat_shipping_unmanaged: {
    word: "Shipping not managed",
    what: "WeChat wants shipping information by its interface.",
    next: "Switch on the management of shipping information at WeChat, and see that uploads go out.",
  },
  bill_payment_differs: {
    word: "Bill: payment differs",
    what: "WeChat's bill has another amount, number or state for this payment than the shop.",
    next: "What arrived counts. A corrected bill resolves this when the day is run again; else find out, and note it.",
  },
  bill_refund_differs: {
    word: "Bill: refund differs",
    what: "WeChat's bill has another state of this refund than the shop.",
    next: "See in WeChat's merchant platform whether the refund arrived, pay it if not, and note it.",
  },
  bill_payment_missing: {
    word: "Bill: payment missing",
    what: "The shop has this payment and WeChat's bill does not.",
    next: "Run the day again tomorrow; if it is still missing, look the transaction up at WeChat, and note it.",
  },
  bill_refund_missing: {
    word: "Bill: refund missing",
    what: "The shop has this refund as made and WeChat's bill does not have it.",
    next: "Run the day again tomorrow; if it is still missing, see at WeChat whether it arrived, and note it.",
  },
  bill_failed: {
    word: "Day not reconciled",
    what: "The bill of the day cannot be had: WeChat refused it, it cannot be read, it has not come for a day, or it is older than three months. Nobody compared the money of the day.",
    next: "See the reason below and run the day again under Reconciliation, though what has not come is also asked for by itself; success resolves this. Compare an older day by hand with WeChat's download.",
  },
};

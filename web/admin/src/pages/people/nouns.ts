// What permissions are about. A permission of the API whose noun has no words here does not compile.
import type { components } from "@/api/schema";

type NounOf<P> = P extends `${infer N}:${string}` ? N : never;
type Noun = NounOf<components["schemas"]["AdminRoleAddBody"]["permissions"][number]>;

export const nounsZh: Record<Noun, string> = {
  catalog: "商品与分类",
  stock: "库存",
  coupon: "优惠券",
  shipping: "运费规则",
  order: "订单与售后",
  refund: "退款",
  timeout: "超时任务与策略",
  message: "消息",
  anomaly: "资金异常",
  review: "评价与待审内容",
  report: "报表",
  shop: "店铺设置",
  account: "管理员与角色",
  subscribe: "订阅消息",
  merchant: "商家",
};
export const nounsEn: Record<Noun, string> = {
  catalog: "Products and categories",
  stock: "Stock",
  coupon: "Coupons",
  shipping: "Freight rules",
  order: "Orders and after-sales",
  refund: "Refunds",
  timeout: "Deadlines and policies",
  message: "Messages",
  anomaly: "Anomalies",
  review: "Reviews and held content",
  report: "Reports",
  shop: "Shop settings",
  account: "Admins and roles",
  subscribe: "Subscribe messages",
  merchant: "Merchants",
};

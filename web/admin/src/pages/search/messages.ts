import { defineMessages } from "@/i18n/define";

export default defineMessages({
  zh: {
    title: "搜索",
    found: "“{q}”的结果",
    orders: "订单",
    products: "商品",
    nothing: "没有找到。试试完整的订单号、收货人手机号的后四位，或商品名的一部分。",
    all: "查看全部",
  },
  en: {
    title: "Search",
    found: "Results for “{q}”",
    orders: "Orders",
    products: "Products",
    nothing: "Nothing found. Try a whole order number, the last four digits of the receiver's phone, or a part of a product's name.",
    all: "See all",
  },
});

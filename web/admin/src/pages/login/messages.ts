import { defineMessages } from "@/i18n/define";

export default defineMessages({
  zh: {
    title: "登录商家后台",
    username: "用户名",
    password: "密码",
    submit: "登录",
    ended: "登录已失效，请重新登录。",
    locked: "失败次数过多，{time} 后再试；管理员设置新密码可立即解锁。",
    code: "动态验证码",
    codeHelp: "打开身份验证器应用，输入 6 位数字；手机不在身边时输入一个恢复码。",
    verify: "验证并登录",
    again: "换一个账号",
  },
  en: {
    title: "Log in to the merchant panel",
    username: "Username",
    password: "Password",
    submit: "Log in",
    ended: "The session has ended; log in again.",
    locked: "Too many failures; try again in {time}. A new password set by an admin unlocks at once.",
    code: "Code",
    codeHelp: "Open your authenticator app and enter the six digits; without your phone, enter a recovery code.",
    verify: "Verify and log in",
    again: "Use another account",
  },
});

// How money and times are written, in one place.
import { ref } from "vue";
import { language } from "@/i18n";

/** The shop's time zone (shop.timezone), which the server tells after the login. */
export const zone = ref("Asia/Shanghai");

/** ¥1,234.50 from fen; negative with a true minus. */
export function money(fen: number): string {
  const sign = fen < 0 ? "−" : "";
  const amount = Math.abs(fen);
  const yuan = Math.trunc(amount / 100)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}¥${yuan}.${String(amount % 100).padStart(2, "0")}`;
}

/** Fen from what a person wrote in yuan ("12", "12.5", "12.50"); undefined where it is no amount. */
export function fenOf(text: string): number | undefined {
  const m = /^(-|−)?(\d{1,12})(?:\.(\d{1,2}))?$/.exec(text.trim().replace(/[¥￥,\s]/g, ""));
  if (!m) return undefined;
  const fen = Number(m[2]) * 100 + Number((m[3] ?? "").padEnd(2, "0") || 0);
  return m[1] ? -fen : fen;
}

/** Yuan without sign or separators, for an input: 1234.50. */
export function yuanOf(fen: number): string {
  return `${fen < 0 ? "-" : ""}${Math.trunc(Math.abs(fen) / 100)}.${String(Math.abs(fen) % 100).padStart(2, "0")}`;
}

/** 1,234 */
export function count(n: number): string {
  return Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

function parts(at: Date, options: Intl.DateTimeFormatOptions): Record<string, string> {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone.value, hourCycle: "h23", ...options });
  return Object.fromEntries(format.formatToParts(at).map((p) => [p.type, p.value]));
}

const minute = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;

/** 2026-11-29 14:05, in the shop's zone. */
export function time(iso: string): string {
  const p = parts(new Date(iso), minute);
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}`;
}

/** 2026-11-29 14:05:06.123 GMT+8: the exact value, in the shop's zone. */
export function exactTime(iso: string): string {
  const at = new Date(iso);
  const p = parts(at, { ...minute, second: "2-digit", timeZoneName: "short" });
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second}.${String(at.getMilliseconds()).padStart(3, "0")} ${p.timeZoneName}`;
}

/** 2026-11-29, in the shop's zone. */
export function day(at: Date | string): string {
  const p = parts(new Date(at), { year: "numeric", month: "2-digit", day: "2-digit" });
  return `${p.year}-${p.month}-${p.day}`;
}

const steps: [number, string, string][] = [
  [86_400_000, "天", "d"],
  [3_600_000, "小时", "h"],
  [60_000, "分", "min"],
  [1000, "秒", "s"],
];

/** A length of time in its two largest units: 2 小时 5 分, 2 h 5 min; below a second in milliseconds. */
export function duration(ms: number): string {
  const zh = language.value === "zh";
  if (Math.abs(ms) < 1000) return zh ? `${Math.round(ms)} 毫秒` : `${Math.round(ms)} ms`;
  let left = Math.abs(Math.round(ms / 1000)) * 1000;
  const words: string[] = [];
  for (const [size, cn, en] of steps) {
    const n = Math.trunc(left / size);
    if (n === 0) {
      if (words.length > 0) break;
      continue;
    }
    words.push(`${n} ${zh ? cn : en}`);
    left -= n * size;
    if (words.length === 2) break;
  }
  return (ms < 0 ? "−" : "") + words.join(" ");
}

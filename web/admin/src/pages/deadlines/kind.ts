import { i18n, t } from "@/i18n";

/** The name of a kind of deadline for people. */
export function kindName(kind: string): string {
  const key = `deadlines.kind.${kind}`;
  return i18n.global.te(key) ? t(key) : kind;
}

/** A lateness from milliseconds: 0.4 ms, 12 ms, 1.5 s. */
export function late(ms: number): string {
  return ms > 0 && ms < 10 ? `${Math.round(ms * 10) / 10} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

// Times as they stand on the wall of the shop, for inputs: what a person writes is meant in the shop's zone, wherever they sit.
import { zone } from "@/format";

function wallOf(at: number): number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone.value,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  const p = Object.fromEntries(format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
  return Date.UTC(p.year ?? 0, (p.month ?? 1) - 1, p.day, p.hour, p.minute, p.second);
}

/** "2026-11-29 14:05:00" from an instant. */
export function toWall(iso: string): string {
  return new Date(wallOf(Date.parse(iso))).toISOString().slice(0, 19).replace("T", " ");
}

/** The instant that such a text names; "" where it is none. */
export function fromWall(text: string): string {
  const wanted = Date.parse(`${text.replace(" ", "T")}Z`);
  if (Number.isNaN(wanted)) return "";
  let at = wanted;
  for (let i = 0; i < 2; i++) at -= wallOf(at) - wanted; // twice: the first step may cross a change of the clocks
  return new Date(at).toISOString();
}

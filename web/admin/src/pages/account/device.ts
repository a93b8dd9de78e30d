// A browser and its system in two words, from what it says of itself.
const browsers: [RegExp, string][] = [
  [/MicroMessenger/, "WeChat"],
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox|FxiOS/, "Firefox"],
  [/Chrome|CriOS/, "Chrome"],
  [/Safari/, "Safari"],
];
const systems: [RegExp, string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/HarmonyOS|OpenHarmony/, "HarmonyOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

const first = (agent: string, of: [RegExp, string][]) => of.find(([shape]) => shape.test(agent))?.[1];

/** "Chrome · Windows"; the first word of what is no browser; undefined where nothing is known. */
export function device(agent: string | undefined): string | undefined {
  if (!agent) return undefined;
  const words = [first(agent, browsers), first(agent, systems)].filter(Boolean);
  return words.length > 0 ? words.join(" · ") : agent.split(" ")[0];
}

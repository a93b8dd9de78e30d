import { money, yuanOf } from "@/format";
import { t } from "@/i18n";

/** What of a rule priced by that kind is compared when two people changed it: named as in the form, shown as people write it. */
export function staleFields(kind: "piece" | "weight") {
  const byPiece = kind === "piece";
  const yuan = (value: unknown) => yuanOf(Number(value));
  return [
    { key: "name" as const, label: t("freight.name") },
    { key: "kind" as const, label: t("freight.kind"), show: (value: unknown) => t(`freight.${String(value)}`) },
    {
      key: "regions" as const,
      label: t("freight.regions"),
      show: (value: unknown) => (value as string[]).join("、") || t("freight.everywhere"),
    },
    { key: "first_units" as const, label: t(byPiece ? "freight.firstPiece" : "freight.firstWeight") },
    { key: "first_fen" as const, label: t("freight.firstFen"), show: yuan },
    { key: "step_units" as const, label: t(byPiece ? "freight.stepPiece" : "freight.stepWeight") },
    { key: "step_fen" as const, label: t("freight.stepFen"), show: yuan },
    { key: "free_over_fen" as const, label: t("freight.freeOver"), show: (value: unknown) => (value ? money(Number(value)) : "–") },
    { key: "sort" as const, label: t("freight.sort") },
  ];
}

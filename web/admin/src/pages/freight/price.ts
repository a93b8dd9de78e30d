/** What a rule prices by; units are pieces or grams. */
export interface Priced {
  first_units: number;
  first_fen: number;
  step_units: number;
  step_fen: number;
}

/** What delivery of that many units costs by a rule: the first units, and each further step begun. */
export function freightOf(rule: Priced, units: number): number {
  const more = units - rule.first_units;
  if (more <= 0 || rule.step_units <= 0) return rule.first_fen;
  return rule.first_fen + Math.ceil(more / rule.step_units) * rule.step_fen;
}

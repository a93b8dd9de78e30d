/** A tree of texts. */
export interface Texts {
  [key: string]: string | Texts;
}

type Same<T> = { [K in keyof T]: T[K] extends string ? string : Same<T[K]> };

/** Texts in both languages; a key that one of them lacks does not compile. */
export function defineMessages<T extends Texts>(both: { zh: T; en: Same<T> }): { zh: Texts; en: Texts } {
  return both as { zh: Texts; en: Texts };
}

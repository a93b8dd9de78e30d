// A pasted block of a spreadsheet, and where its cells go.
import type { Cell, Row } from "./form";

/** The lines of a pasted text, each with its cells; the empty line that spreadsheets end with left out. */
export function cellsOf(text: string): string[][] {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
  return lines.map((line) => line.split("\t").map((c) => c.trim()));
}

export const columns: Cell[] = ["price", "stock", "weight"];

/** Whether a cell can be typed into: the stock of a SKU that exists has an operation of its own. */
export const editable = (row: Row, cell: Cell): boolean => cell !== "stock" || row.id === undefined;

/** Cleans an amount or a number as spreadsheets write them: ¥1,234.50 → 1234.50. */
const plain = (text: string) => text.replace(/[¥￥,\s]/g, "");

/** Writes a pasted block into the rows from a cell on, to the right and down; returns how many cells were written. */
export function paste(rows: Row[], at: { row: number; cell: Cell }, text: string): number {
  let written = 0;
  const left = columns.indexOf(at.cell);
  cellsOf(text).forEach((line, down) => {
    const row = rows[at.row + down];
    if (!row) return;
    line.forEach((value, right) => {
      const cell = columns[left + right];
      if (!cell || !editable(row, cell)) return;
      row[cell] = plain(value);
      written++;
    });
  });
  return written;
}

/** Copies a cell into all cells below it. */
export function fillDown(rows: Row[], at: { row: number; cell: Cell }): void {
  const value = rows[at.row]?.[at.cell] ?? "";
  for (const row of rows.slice(at.row + 1)) if (editable(row, at.cell)) row[at.cell] = value;
}

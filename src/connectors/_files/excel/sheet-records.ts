import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText, setField, type JsonObject } from '../../../lib/text/json.ts';
import { orderOf, type RecordSchema } from '../../../kit/record-schema.ts';
import type { Log } from '../../../lib/log.ts';
import { sheetRows, type SheetRow } from './sheet-rows.ts';
import { Workbook } from './workbook.ts';

export interface SheetOptions {
  /** By name; by index from 0 when no sheet has the name; the first when neither is given. */
  readonly sheet: { readonly name?: string | undefined; readonly index?: number | undefined };
  /** Index of the row that names the columns, from 0. */
  readonly headerRow: number;
  /** Name of the file in errors. */
  readonly name: string;
  /** Told that a hidden sheet is read, formulas that were never computed, and rows left out. */
  readonly log?: Pick<Log, 'warn'> | undefined;
}

/** Cells that rows without a value may have: one value far below the others makes a million rows. */
const MAX_EMPTY_CELLS = 4_000_000;

/**
 * One record per row below the header of a sheet, to the last one with a value; empty cells are null,
 * dates are ISO 8601 text.
 */
export function sheetRecords(bytes: Uint8Array, options: SheetOptions): JsonObject[] {
  return readSheet(bytes, options).records;
}

/** The records, and what is known of their fields. */
export function readSheet(
  bytes: Uint8Array,
  options: SheetOptions,
): { readonly records: JsonObject[]; readonly schema: RecordSchema | undefined } {
  const { headerRow, name } = options;
  const workbook = new Workbook(bytes, name);
  const { rows, uncomputed } = sheetRows(workbook, partOf(workbook, options), name);
  if (uncomputed !== undefined)
    options.log?.warn('formulas of the sheet have no stored value, and are null', {
      path: name,
      cell: uncomputed,
      hint: 'open the workbook in a spreadsheet program and save it, which computes them',
    });
  // Rows are numbered as people see them, from 1.
  const header = rows.get(headerRow + 1);
  const below = [...rows]
    .filter(([number]) => number > headerRow + 1)
    .sort(([one], [other]) => one - other);
  const cells = below.map(([, row]) => row);
  const names = columnNames(header ?? new Map(), cells, options);
  const taken = leavesOut(below, names.length, options)
    ? cells
    : withEmptyRows(below, headerRow + 2);
  return { records: taken.map((row) => recordOf(row, names)), schema: orderOf(names) };
}

type NumberedRow = readonly [number: number, cells: SheetRow];

const EMPTY_ROW: SheetRow = new Map();

function withEmptyRows(rows: readonly NumberedRow[], first: number): SheetRow[] {
  const out: SheetRow[] = [];
  for (const [number, cells] of rows) {
    while (first + out.length < number) out.push(EMPTY_ROW);
    out.push(cells);
  }
  return out;
}

/** Whether too many rows have no value to make records of them. */
function leavesOut(
  rows: readonly NumberedRow[],
  width: number,
  { headerRow, name, log }: SheetOptions,
): boolean {
  const last = rows.at(-1)?.[0] ?? headerRow + 1;
  const empty = last - headerRow - 1 - rows.length;
  if (empty * width <= MAX_EMPTY_CELLS) return false;
  log?.warn('rows of the sheet that have no value are left out, because there are so many', {
    path: name,
    rows: empty,
    last_row: last,
    hint: 'a value stands far below the others: delete it if it is none of the data',
  });
  return true;
}

function partOf(workbook: Workbook, { sheet, name, log }: SheetOptions): string {
  const { sheets } = workbook;
  const chosen =
    sheet.name === undefined && sheet.index === undefined
      ? sheets.find((one) => one.hasCells)
      : (sheets.find((one) => one.name === sheet.name) ?? sheets[sheet.index ?? -1]);
  if (chosen?.hasCells === true) {
    if (chosen.isHidden && sheet.name === undefined && sheet.index === undefined)
      log?.warn('the first sheet of the workbook, which is read, is hidden', {
        path: name,
        sheet: chosen.name,
        hint: `name the sheet that you mean in \`excel.sheet\`: ${sheets
          .filter((one) => one.hasCells)
          .map((one) => one.name)
          .join(', ')}`,
      });
    return chosen.part;
  }
  if (chosen !== undefined)
    throw new ConnectorError('data', `the sheet \`${chosen.name}\` of ${name} has no cells`, {
      hint: 'it is a chart or a dialog: choose another sheet',
    });
  const wanted = sheet.name ?? String((sheet.index ?? 0) + 1);
  throw new ConnectorError('missing', `${name} has no sheet \`${wanted}\``, {
    hint: `its sheets are: ${sheets.map((one) => one.name).join(', ')}`,
  });
}

/** Columns without a name are called by their index, as far to the right as there are values. */
function columnNames(
  header: SheetRow,
  below: readonly SheetRow[],
  { headerRow, name }: SheetOptions,
): string[] {
  let width = 0;
  for (const row of [header, ...below])
    for (const column of row.keys()) width = Math.max(width, column + 1);
  const names = Array.from({ length: width }, (_, column) => {
    const cell = header.get(column);
    return cell === undefined || cell === '' ? `column_${column}` : jsonText(cell);
  });
  const seen = new Set<string>();
  for (const one of names) {
    if (seen.has(one))
      throw new ConnectorError(
        'data',
        `row ${headerRow + 1} of ${name} has two columns called ${JSON.stringify(one)}`,
        { hint: 'rename one of them, or choose another header row' },
      );
    seen.add(one);
  }
  return names;
}

function recordOf(row: SheetRow, names: readonly string[]): JsonObject {
  const record: JsonObject = {};
  for (const [column, name] of names.entries()) setField(record, name, row.get(column) ?? null);
  return record;
}

/** A sheet by name, or by index from 0, also as text. */
export function sheetChoice(sheet: string | number | undefined): SheetOptions['sheet'] {
  if (sheet === undefined) return {};
  const name = String(sheet);
  return { name, index: /^\d+$/.test(name) ? Number(name) : undefined };
}

import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { jsonText, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { unzipFiles } from '../compression/zip.ts';

export interface SheetOptions {
  /** Name, or index from 0 (also as text); unset: the first sheet. */
  readonly sheet: string | number | undefined;
  /** Row that names the columns, counted from 0. */
  readonly headerRow: number;
  /** Name of the file in errors. */
  readonly name: string;
}

type Cell = string | number | boolean | Date | null;

/**
 * One record per row below the header of a sheet; empty cells are null, empty rows are left out,
 * dates are ISO text.
 */
export async function sheetRecords(
  bytes: Uint8Array,
  options: SheetOptions,
): Promise<JsonObject[]> {
  const rows = await rowsOf(bytes, options);
  const header = rows[options.headerRow];
  if (header === undefined) return [];
  const names = columnNames(header, options);
  return rows
    .slice(options.headerRow + 1)
    .filter((row) => row.some((cell) => cell !== null))
    .map((row) => recordOf(row, names));
}

async function rowsOf(bytes: Uint8Array, options: SheetOptions): Promise<Cell[][]> {
  // Only checks the sizes, because the reader has no limit for what it unpacks.
  unzipFiles(bytes, options.name, () => false);
  const { default: readSheets } = await import('read-excel-file/node');
  let sheets: readonly { readonly sheet: string; readonly data: unknown }[];
  try {
    sheets = await readSheets(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw new ConnectorError(
      'data',
      `${options.name} cannot be read as a spreadsheet: ${messageOf(error)}`,
      { cause: error },
    );
  }
  const wanted = String(options.sheet ?? 0);
  const chosen =
    sheets.find((one) => one.sheet === wanted) ??
    (/^\d+$/.test(wanted) ? sheets[Number(wanted)] : undefined);
  if (chosen !== undefined) return chosen.data as Cell[][];
  const names = sheets.map((one) => one.sheet).join(', ');
  throw new ConnectorError('missing', `${options.name} has no sheet \`${wanted}\``, {
    hint: `its sheets are: ${names}`,
  });
}

function columnNames(header: readonly Cell[], { name }: SheetOptions): string[] {
  const names = header.map((cell, index) =>
    cell === null ? `column_${index}` : jsonText(jsonOf(cell)),
  );
  const double = names.find((one, index) => names.indexOf(one) !== index);
  if (double === undefined) return names;
  const hint = 'rename one of them, or choose another header row';
  throw new ConnectorError('data', `${name} has two columns called ${JSON.stringify(double)}`, {
    hint,
  });
}

function recordOf(row: readonly Cell[], names: readonly string[]): JsonObject {
  const record: JsonObject = {};
  for (const [index, name] of names.entries()) setField(record, name, jsonOf(row[index] ?? null));
  return record;
}

function jsonOf(cell: Cell): JsonValue {
  return cell instanceof Date ? cell.toISOString() : cell;
}

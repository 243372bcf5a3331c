import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { jsonText, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

export interface XlsxOptions {
  /** Name, or number from 1. */
  readonly sheet: string | number | undefined;
  /** Number of the row that names the columns, from 1. */
  readonly headerRow: number;
  readonly name: string;
}

type Cell = string | number | boolean | Date | null;

/** The rows of a sheet as records; empty cells are null, empty rows are left out. */
export async function xlsxRecords(bytes: Buffer, options: XlsxOptions): Promise<JsonObject[]> {
  const rows = await rowsOf(bytes, options);
  const header = rows[options.headerRow - 1];
  if (header === undefined) return [];
  const names = columnNames(header, options);
  return rows
    .slice(options.headerRow)
    .filter((row) => row.some((cell) => cell !== null))
    .map((row) => recordOf(row, names));
}

async function rowsOf(bytes: Buffer, { sheet, name }: XlsxOptions): Promise<Cell[][]> {
  const { readSheet } = await import('read-excel-file/node');
  try {
    return (await (sheet === undefined ? readSheet(bytes) : readSheet(bytes, sheet))) as Cell[][];
  } catch (error) {
    throw new ConnectorError('data', `cannot read ${name} as a spreadsheet: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function columnNames(header: readonly Cell[], { headerRow, name }: XlsxOptions): string[] {
  const names = header.map((cell, index) =>
    cell === null ? `column_${index}` : jsonText(jsonOf(cell)),
  );
  const double = names.find((one, index) => names.indexOf(one) !== index);
  if (double === undefined) return names;
  throw new ConnectorError(
    'data',
    `row ${headerRow} of ${name} has two columns called ${JSON.stringify(double)}`,
    {
      hint: 'rename one of them',
    },
  );
}

function recordOf(row: readonly Cell[], names: readonly string[]): JsonObject {
  const record: JsonObject = {};
  for (const [index, name] of names.entries()) setField(record, name, jsonOf(row[index] ?? null));
  return record;
}

function jsonOf(cell: Cell): JsonValue {
  return cell instanceof Date ? cell.toISOString() : cell;
}

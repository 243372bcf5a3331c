/** One sheet of an Excel workbook (ECMA-376) as records. */
import { XMLParser } from 'fast-xml-parser';
import { ConnectorError } from '../../lib/errors.ts';
import { jsonText, setField, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { utf8 } from './body.ts';
import { unzipFiles } from './zip.ts';

export interface SheetOptions {
  /** Name, or index from 0 (also as text); unset: the first sheet. */
  readonly sheet: string | number | undefined;
  /** Row that names the columns, counted from 0. */
  readonly headerRow: number;
  /** What errors call the file. */
  readonly name: string;
}

type Element = Readonly<Record<string, unknown>>;

const LISTS: ReadonlySet<string> = new Set(['sheet', 'Relationship', 'si', 'r', 'row', 'c', 'xf', 'numFmt']);

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  removeNSPrefix: false,
  trimValues: false,
  isArray: (tag) => LISTS.has(tag),
});

/** One record a row below the header; cells are text, number, boolean or null, dates are ISO text. */
export function sheetRecords(bytes: Uint8Array, options: SheetOptions): JsonObject[] {
  const files = unzipFiles(bytes, options.name, (file) =>
    /^xl\/(workbook|sharedStrings|styles|worksheets\/[^/]+|_rels\/workbook)\.xml(\.rels)?$/i.test(file),
  );
  const workbook = read(files, 'xl/workbook.xml', options.name);
  const sheet = readSheet(files, sheetPath(files, workbook, options), options.name);
  const cells: CellRules = {
    shared: sharedTexts(files, options.name),
    dateStyles: dateStyles(files, options.name),
    from1904: /^(1|true)$/.test(attribute(at(workbook, 'workbook', 'workbookPr'), '@date1904')),
  };
  return recordsOf(sheet, cells, options);
}

function read(files: ReadonlyMap<string, Uint8Array>, path: string, name: string): Element {
  const bytes = files.get(path);
  if (bytes === undefined) throw new ConnectorError('data', `${name} is not an Excel workbook: it has no ${path}`);
  return parser.parse(utf8(bytes)) as Element;
}

function sheetPath(files: ReadonlyMap<string, Uint8Array>, workbook: Element, { sheet: wanted, name }: SheetOptions): string {
  const sheets = list(at(workbook, 'workbook', 'sheets'), 'sheet');
  const names = sheets.map((one) => attribute(one, '@name'));
  const byName = names.indexOf(String(wanted ?? ''));
  const index = wanted === undefined ? 0 : byName === -1 && /^\d+$/.test(String(wanted)) ? Number(wanted) : byName;
  const chosen = sheets[index];
  if (chosen === undefined) {
    throw new ConnectorError('missing', `${name} has no sheet \`${wanted ?? 0}\``, { hint: `its sheets are: ${names.join(', ')}` });
  }
  const relations = list(at(read(files, 'xl/_rels/workbook.xml.rels', name), 'Relationships'), 'Relationship');
  const target = relations.find((one) => one['@Id'] === chosen['@r:id'])?.['@Target'];
  const path = typeof target === 'string' ? target : `worksheets/sheet${index + 1}.xml`;
  return path.startsWith('/') ? path.slice(1) : `xl/${path}`;
}

function readSheet(files: ReadonlyMap<string, Uint8Array>, path: string, name: string): readonly Element[] {
  return list(at(read(files, path, name), 'worksheet', 'sheetData'), 'row');
}

function sharedTexts(files: ReadonlyMap<string, Uint8Array>, name: string): string[] {
  if (!files.has('xl/sharedStrings.xml')) return [];
  return list(at(read(files, 'xl/sharedStrings.xml', name), 'sst'), 'si').map(richText);
}

/** Text in one piece, or in runs of different looks. */
function richText(item: Element): string {
  const runs = list(item, 'r');
  return runs.length > 0 ? runs.map((run) => textOf(run['t'])).join('') : textOf(item['t']);
}

function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return textOf((value as Element)['#text']);
  return typeof value === 'string' ? value : '';
}

/** Built-in number formats that show a date or a time. */
const DATE_FORMATS: ReadonlySet<number> = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

/** Indexes of the cell styles that show a date or a time. */
function dateStyles(files: ReadonlyMap<string, Uint8Array>, name: string): ReadonlySet<number> {
  if (!files.has('xl/styles.xml')) return new Set();
  const sheet = read(files, 'xl/styles.xml', name);
  const custom = new Set<number>();
  for (const format of list(at(sheet, 'styleSheet', 'numFmts'), 'numFmt')) {
    const code = attribute(format, '@formatCode').replaceAll(/"[^"]*"|\[[^\]]*\]|\\./g, '');
    if (/[ymdhs]/i.test(code)) custom.add(Number(format['@numFmtId']));
  }
  const styles = list(at(sheet, 'styleSheet', 'cellXfs'), 'xf');
  const shows = (format: number): boolean => DATE_FORMATS.has(format) || custom.has(format);
  return new Set(styles.flatMap((style, index) => (shows(Number(style['@numFmtId'])) ? [index] : [])));
}

interface CellRules {
  readonly shared: readonly string[];
  readonly dateStyles: ReadonlySet<number>;
  readonly from1904: boolean;
}

function recordsOf(rows: readonly Element[], rules: CellRules, options: SheetOptions): JsonObject[] {
  const records: JsonObject[] = [];
  let names: Map<number, string> | undefined;
  let number = -1;
  for (const row of rows) {
    number = row['@r'] === undefined ? number + 1 : Number(row['@r']) - 1;
    if (number < options.headerRow) continue;
    const cells = cellsOf(row, rules);
    if (names === undefined) {
      names = headerOf(cells, options.name);
      continue;
    }
    if (cells.every(({ value }) => value === null)) continue;
    records.push(recordOf(cells, names));
  }
  return records;
}

interface Cell {
  readonly column: number;
  readonly value: JsonValue;
}

function headerOf(cells: readonly Cell[], name: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const { column, value } of cells) {
    if (value === null) continue;
    const text = jsonText(value);
    if ([...names.values()].includes(text)) {
      throw new ConnectorError('data', `${name} has two columns called ${JSON.stringify(text)}`, {
        hint: 'rename one of them, or choose another header row',
      });
    }
    names.set(column, text);
  }
  return names;
}

/** Every named column is there; a cell beyond the header is called by its position. */
function recordOf(cells: readonly Cell[], names: ReadonlyMap<number, string>): JsonObject {
  const record: JsonObject = {};
  for (const name of names.values()) setField(record, name, null);
  for (const { column, value } of cells) {
    const name = names.get(column) ?? (value === null ? undefined : `column_${column}`);
    if (name !== undefined) setField(record, name, value);
  }
  return record;
}

function cellsOf(row: Element, rules: CellRules): Cell[] {
  let column = -1;
  return list(row, 'c').map((cell) => {
    const place = /^([A-Z]+)/.exec(attribute(cell, '@r'))?.[1];
    column = place === undefined ? column + 1 : columnIndex(place);
    return { column, value: valueOf(cell, rules) };
  });
}

function columnIndex(letters: string): number {
  let index = 0;
  for (const letter of letters) index = index * 26 + letter.charCodeAt(0) - 64;
  return index - 1;
}

function valueOf(cell: Element, rules: CellRules): JsonValue {
  const text = textOf(cell['v']);
  switch (cell['@t']) {
    case 's':
      return rules.shared[Number(text)] ?? null;
    case 'inlineStr':
      return richText((cell['is'] ?? {}) as Element);
    case 'b':
      return text === '1';
    case 'str':
    case 'd':
      return text;
    case 'e':
      return null;
    default:
      if (text === '') return null;
      return rules.dateStyles.has(Number(cell['@s'] ?? 0)) ? dateText(Number(text), rules.from1904) : Number(text);
  }
}

const DAY_MS = 86_400_000;

/** A serial day number as ISO text: a date, a date-time, or a time of day when there is no date. */
function dateText(serial: number, from1904: boolean): JsonValue {
  if (!Number.isFinite(serial)) return null;
  const epoch = from1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30);
  const iso = new Date(Math.round((epoch + serial * DAY_MS) / 1000) * 1000).toISOString();
  if (serial >= 0 && serial < 1) return iso.slice(11, 19);
  return Number.isInteger(serial) ? iso.slice(0, 10) : iso.slice(0, 19);
}

function at(element: Element | undefined, ...path: readonly string[]): Element | undefined {
  let found: unknown = element;
  for (const step of path) found = typeof found === 'object' && found !== null ? (found as Element)[step] : undefined;
  return typeof found === 'object' && found !== null ? (found as Element) : undefined;
}

function attribute(element: Element | undefined, name: string): string {
  return textOf(element?.[name]);
}

function list(element: Element | undefined, tag: string): readonly Element[] {
  const found = element?.[tag];
  if (!Array.isArray(found)) return [];
  return found.map((one: unknown) => (typeof one === 'object' && one !== null ? (one as Element) : { t: one }));
}

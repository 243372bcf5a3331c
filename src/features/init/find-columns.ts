/** What the columns of a table hold: their types with the evidence, and what could be key or cursor. */
import { TypeInference } from '../../kit/infer-types.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import { typeText } from '../../kit/type-text.ts';
import { count } from '../../lib/text/count.ts';
import { setField, type JsonObject } from '../../lib/text/json.ts';

export interface FoundColumn {
  /** As the source calls it. */
  readonly name: string;
  /** As records that leave the document call it. */
  readonly finalName: string;
  /** As `columns` takes it; absent for text. */
  readonly type: string | undefined;
  readonly kind: RecordField['type']['kind'];
  /** Numbers with a comma before the fraction, which `cast` converts. */
  readonly hasDecimalComma: boolean;
  readonly because: string;
  readonly values: number;
  readonly empty: number;
  /** Different values. */
  readonly different: number;
  /** Whether each value is at least as great as the one before. */
  readonly isAscending: boolean;
}

export interface FoundColumns {
  readonly columns: readonly FoundColumn[];
  /** Texts that stand for no value in columns that are typed otherwise. */
  readonly nullMarkers: readonly string[];
}

const NULL_MARKERS = ['NULL', 'null', 'N/A', 'n/a', 'NA', '\\N', '-', 'None', 'NaN', '#N/A', '?'];

interface Table {
  /** What the source calls its columns. */
  readonly names: readonly string[];
  readonly finalNames: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function findColumns(table: Table): FoundColumns {
  const markers = nullMarkers(table);
  const marked = new Set(markers);
  const columns = table.names.map((name, index) =>
    describeColumn(
      { name, finalName: table.finalNames[index] ?? name },
      table.rows.map((cells) => {
        const cell = cells[index] ?? '';
        return marked.has(cell) ? '' : cell;
      }),
    ),
  );
  const hasEmptyNumber = columns.some((one) => one.hasDecimalComma && one.empty > 0);
  return { columns, nullMarkers: hasEmptyNumber ? ['', ...markers] : markers };
}

/** Those without which a column of texts has a better type, and which no other column has. */
function nullMarkers({ names, rows }: Table): string[] {
  const found = new Set<string>();
  const kept = new Set<string>();
  for (const index of names.keys()) {
    const cells = rows.map((row) => row[index] ?? '');
    const here = NULL_MARKERS.filter((marker) => cells.includes(marker));
    if (here.length === 0) continue;
    const rest = cells.filter((cell) => cell !== '' && !here.includes(cell));
    const isTyped = rest.length > 0 && (typeOf(rest).kind !== 'utf8' || areDecimalCommas(rest));
    for (const marker of here) (isTyped ? found : kept).add(marker);
  }
  return [...found].filter((marker) => !kept.has(marker));
}

function describeColumn(
  names: Pick<FoundColumn, 'name' | 'finalName'>,
  cells: readonly string[],
): FoundColumn {
  const values = cells.filter((cell) => cell !== '');
  const facts = {
    ...names,
    values: values.length,
    empty: cells.length - values.length,
    different: new Set(values).size,
    isAscending: isAscending(values),
  };
  if (areDecimalCommas(values))
    return {
      ...facts,
      type: undefined,
      kind: 'float64',
      hasDecimalComma: true,
      because: `numbers with a comma before the fraction, such as ${JSON.stringify(values.find((value) => value.includes(',')))}`,
    };
  const { kind, text, because } = typeOf(cells);
  return { ...facts, type: text, kind, hasDecimalComma: false, because };
}

function typeOf(cells: readonly string[]): {
  readonly kind: FoundColumn['kind'];
  readonly text: string | undefined;
  readonly because: string;
} {
  const inference = new TypeInference({ fromText: true });
  for (const cell of cells) {
    const record: JsonObject = {};
    setField(record, 'value', cell);
    inference.add(record);
  }
  const [field] = inference.schema().fields;
  const { kind } = field?.type ?? { kind: 'utf8' as const };
  const { values = 0, empty = 0, because } = field?.evidence ?? {};
  if (values === 0) return { kind: 'utf8', text: undefined, because: 'no value in the sample' };
  const seen = `${count(values, 'value')}${empty === 0 ? '' : `, ${empty} empty`}`;
  const hint = kind === 'utf8' ? textHint(cells) : undefined;
  const why = [seen, because, hint].filter((one) => one !== undefined).join('; ');
  const text = field === undefined || kind === 'utf8' ? undefined : typeText(field.type);
  return { kind, text, because: why };
}

const DAY_FIRST = /^(?:[0-3]?\d)[./-](?:[01]?\d)[./-](?:\d{4}|\d{2})\b/;
const MONTH_FIRST = /^(?:[01]?\d)\/(?:[0-3]?\d)\/(?:\d{4}|\d{2})\b/;

/** What a text looks like that is not converted. */
function textHint(cells: readonly string[]): string | undefined {
  const values = cells.filter((cell) => cell !== '').slice(0, 100);
  if (values.every((value) => DAY_FIRST.test(value)))
    return 'looks like dates with the day first, which stay texts';
  if (values.every((value) => MONTH_FIRST.test(value)))
    return 'looks like dates with the month first, which stay texts';
  return undefined;
}

const COMMA_NUMBER = /^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?$/;

function areDecimalCommas(values: readonly string[]): boolean {
  return (
    values.some((value) => /,\d+$/.test(value)) &&
    values.every((value) => COMMA_NUMBER.test(value) && !/^[+-]?0\d/.test(value)) &&
    // `1,234` and nothing else could as well be a thousand.
    values.some((value) => !/,\d{3}$/.test(value) && value.includes(','))
  );
}

/** Numbers by their size, everything else by its letters. */
function isAscending(values: readonly string[]): boolean {
  const areNumbers = values.every((value) => /^-?\d+$/.test(value));
  return values.every((value, index) => {
    const before = values[index - 1];
    if (before === undefined) return true;
    return areNumbers ? BigInt(before) <= BigInt(value) : before <= value;
  });
}

const FEWEST_FOR_A_KEY = 3;
const KEY_NAMES = /^(?:id|key|uuid|guid|pk|code|number|no|nr)$|(?:_id|_key|_no|_nr|_code|id)$/i;
const CURSOR_NAMES = /(?:updated|modified|changed|created|inserted|timestamp|_at$|date|time)/i;
const NO_KEYS: ReadonlySet<string> = new Set(['float64', 'decimal', 'bool', 'json']);

/** Columns in which every record has a value of its own, the likeliest first. */
export function keyCandidates(columns: readonly FoundColumn[]): readonly FoundColumn[] {
  return columns
    .filter(
      ({ values, empty, different, kind }) =>
        values >= FEWEST_FOR_A_KEY && empty === 0 && different === values && !NO_KEYS.has(kind),
    )
    .map((column, place) => ({ column, rank: rankOfKey(column, place) }))
    .toSorted((one, two) => one.rank - two.rank)
    .map(({ column }) => column);
}

function rankOfKey({ name, kind }: FoundColumn, place: number): number {
  const isTime = kind === 'timestamp' || kind === 'date';
  return (KEY_NAMES.test(name) ? 0 : 100) + (isTime ? 200 : 0) + place;
}

/** Columns that tell newer records from older ones, the likeliest first. */
export function cursorCandidates(columns: readonly FoundColumn[]): readonly FoundColumn[] {
  const isTime = ({ kind }: FoundColumn): boolean => kind === 'timestamp' || kind === 'date';
  return columns
    .filter(
      (column) =>
        column.values >= FEWEST_FOR_A_KEY &&
        column.empty === 0 &&
        (isTime(column) || (column.kind === 'int64' && column.isAscending)),
    )
    .toSorted(
      (one, two) =>
        Number(!isTime(one)) - Number(!isTime(two)) || rankOfCursor(one) - rankOfCursor(two),
    );
}

function rankOfCursor({ name }: FoundColumn): number {
  return /updated|modified|changed/i.test(name) ? 0 : CURSOR_NAMES.test(name) ? 1 : 2;
}

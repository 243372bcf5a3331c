/** The source of a file of delimited text, from a look at its beginning. */
import { count } from '../../lib/text/count.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Draft, DraftField, Setting } from './draft.ts';
import {
  cursorCandidates,
  findColumns,
  keyCandidates,
  type FoundColumn,
  type FoundColumns,
} from './find-columns.ts';
import { findEncoding, type FoundEncoding } from './find-encoding.ts';
import { findTable, type FoundTable } from './find-table.ts';
import type { Sample } from './read-sample.ts';

/** What a look at the data says of a document; its name and where it writes come from elsewhere. */
export type Findings = Pick<Draft, 'source' | 'transforms' | 'fields' | 'advice'> & {
  /** The fields that tell records apart, as the sink gets them. */
  readonly key: readonly string[];
  /** The same as the source calls it. */
  readonly keyField: string | undefined;
  /** Records that were looked at. */
  readonly records: number;
};

/** `undefined` for a text without a row. `place` is a path, or an address. */
export function delimitedFindings(
  sample: Sample,
  place: { readonly path: string; readonly isUrl: boolean },
): Findings | undefined {
  const encoding = findEncoding(sample.bytes);
  const table = findTable(encoding.text, sample.isWhole);
  if (table === undefined) return undefined;
  const naming = namesOf(table);
  const found = findColumns({ ...naming, rows: table.rows });
  const { columns } = found;
  const settings = settingsOf({ encoding, table, naming, found });
  const [key] = keyCandidates(columns);
  const isFlexible = settings.some((setting) => setting.key === 'flexible');
  return {
    source: {
      ...sourceOf(place, settings),
      columns: columns.map(({ name, finalName, type, because, hasDecimalComma }) => ({
        name,
        type,
        because:
          (name === finalName ? '' : `${JSON.stringify(finalName)}: `) +
          (hasDecimalComma ? `${because}; \`cast\` makes them numbers` : because),
      })),
    },
    transforms: transformsOf(table, naming, columns),
    fields: columns.map((column) => ({
      ...fieldOf(column, key),
      isOptional: isFlexible && column !== key,
    })),
    advice: adviceOf(columns),
    key: key === undefined ? [] : [key.finalName],
    keyField: key?.name,
    records: table.rows.length,
  };
}

interface Naming {
  readonly names: readonly string[];
  readonly finalNames: readonly string[];
  /** Why the header cannot be used as it is. */
  readonly because: string | undefined;
}

/** A header with two equal names, or an empty one, is passed over, and fields are renamed. */
function namesOf({ hasHeader, names, width }: FoundTable): Naming {
  const numbered = Array.from({ length: width }, (_, index) => `column_${index}`);
  if (!hasHeader) return { names: numbered, finalNames: numbered, because: undefined };
  const empty = names.findIndex((name) => name === '');
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (empty === -1 && twice === undefined) return { names, finalNames: names, because: undefined };
  const because =
    twice === undefined
      ? `the header has no name for column ${empty + 1}`
      : `the header has two columns called ${JSON.stringify(twice)}`;
  return { names: numbered, finalNames: uniqueNames(names), because };
}

function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((written, index) => {
    const plain = written === '' ? `column_${index}` : written;
    let name = plain;
    for (let n = 2; taken.has(name); n += 1) name = `${plain}_${n}`;
    taken.add(name);
    return name;
  });
}

interface Found {
  readonly encoding: FoundEncoding;
  readonly table: FoundTable;
  readonly naming: Naming;
  readonly found: FoundColumns;
}

function settingsOf({ encoding, table, naming, found }: Found): Setting[] {
  const { because: why, delimiter, hasHeader, ragged, rows, width } = table;
  const passesOver = naming.because !== undefined;
  const skipped = passesOver ? table.skippedWithHeader : table.skipped;
  const all: (Setting | undefined)[] = [
    encoding.name === 'utf-8'
      ? undefined
      : { key: 'encoding', value: encoding.name, because: encoding.because },
    skipped === 0
      ? undefined
      : {
          key: 'skip_rows',
          value: skipped,
          because: [why.skipped, naming.because].filter((one) => one !== undefined).join('; '),
        },
    delimiter === ',' ? undefined : { key: 'delimiter', value: delimiter, because: why.delimiter },
    hasHeader && !passesOver
      ? undefined
      : {
          key: 'has_headers',
          value: false,
          because: passesOver ? 'the header was passed over: see `rename_field`' : why.header,
        },
    found.nullMarkers.length === 0
      ? undefined
      : {
          key: 'null_values',
          value: [...found.nullMarkers],
          because: 'texts that stand for no value in columns that are no texts',
        },
    ragged.length > rows.length / 5
      ? {
          key: 'flexible',
          value: true,
          because: `${count(ragged.length, 'row')} of ${ragged.length + rows.length} have another number of cells than ${width}`,
        }
      : undefined,
    {
      key: 'on_error',
      value: 'dlq',
      because:
        ragged.length > 0 && ragged.length <= rows.length / 5
          ? `${count(ragged.length, 'row')} of the sample (line ${ragged[0]?.line}) ${ragged.length === 1 ? 'has' : 'have'} another number of cells than ${width}, and will be put aside`
          : 'a row that does not fit is put aside, and the run goes on',
    },
  ];
  return all.filter((one) => one !== undefined);
}

const OF_EVERY_FORMAT: ReadonlySet<string> = new Set(['on_error']);

/** `csv` reads files, `file` also addresses; what is said of the format stands in a block there. */
function sourceOf(
  { path, isUrl }: { readonly path: string; readonly isUrl: boolean },
  settings: readonly Setting[],
): Pick<Draft['source'], 'type' | 'settings'> {
  if (!isUrl) return { type: 'csv', settings: [{ key: 'path', value: path }, ...settings] };
  const ofFormat = settings.filter(({ key }) => !OF_EVERY_FORMAT.has(key));
  const block: Record<string, JsonValue> = {};
  for (const { key, value } of ofFormat) block[key] = value;
  const because = ofFormat
    .map(({ key, because: why }) => (why === undefined ? undefined : `${key}: ${why}`))
    .filter((one) => one !== undefined)
    .join('; ');
  return {
    type: 'file',
    settings: [
      { key: 'path', value: path },
      { key: 'format', value: 'csv' },
      ...(ofFormat.length === 0 ? [] : [{ key: 'csv', value: block, because }]),
      ...settings.filter(({ key }) => OF_EVERY_FORMAT.has(key)),
    ],
  };
}

function transformsOf(
  { hasHeader }: FoundTable,
  { names, finalNames, because }: Naming,
  columns: readonly FoundColumn[],
): Draft['transforms'] {
  const fields: Record<string, JsonValue> = {};
  if (hasHeader && because !== undefined)
    for (const [index, name] of names.entries())
      if (finalNames[index] !== name) fields[name] = finalNames[index] ?? name;
  const commas = columns.filter(({ hasDecimalComma }) => hasDecimalComma);
  const casts: Record<string, JsonValue> = {};
  for (const { finalName } of commas) casts[finalName] = 'float';
  return [
    ...(Object.keys(fields).length === 0
      ? []
      : [{ type: 'rename_field', config: { fields }, because: because ?? '' }]),
    ...(commas.length === 0
      ? []
      : [
          {
            type: 'cast',
            config: { fields: casts, decimal_separator: ',', on_error: 'skip' },
            because:
              'numbers with a comma before the fraction; what is none stays a text, and breaks the contract',
          },
        ]),
  ];
}

/** JSON types of values in records, by the logical type. */
export function contractTypeOf(kind: FoundColumn['kind']): string | undefined {
  if (kind === 'bool') return 'boolean';
  if (/^u?int\d+$/.test(kind)) return 'integer';
  if (kind === 'float32' || kind === 'float64') return 'number';
  if (kind === 'list') return 'array';
  if (kind === 'struct') return 'object';
  return kind === 'json' || kind === 'map' ? undefined : 'string';
}

export function fieldOf(column: FoundColumn, key: FoundColumn | undefined): DraftField {
  return {
    name: column.finalName,
    contractType: contractTypeOf(column.kind),
    isKey: column === key,
  };
}

/** Sentences about what could tell records apart, and newer ones from older ones. */
export function adviceOf(columns: readonly FoundColumn[]): string[] {
  const [key, ...others] = keyCandidates(columns);
  const [cursor] = cursorCandidates(columns);
  const also = others.length === 0 ? '' : `; also: ${others.slice(0, 3).map(nameOf).join(', ')}`;
  return [
    key === undefined
      ? 'Key: no field of the sample has a value of its own in each record.'
      : `Key: ${nameOf(key)} has ${count(key.values, 'different value')} in as many records${also}.`,
    ...(cursor === undefined
      ? []
      : [
          `Cursor: ${nameOf(cursor)} ${cursor.isAscending ? 'never falls in the sample' : 'is a time'}, so it may tell new records from old ones.`,
        ]),
  ];
}

function nameOf({ finalName }: FoundColumn): string {
  return `\`${finalName}\``;
}

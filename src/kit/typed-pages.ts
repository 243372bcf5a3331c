/** Gives the fields of pages the types that they are said to have, or that their values show. */
import { ConnectorError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { count } from '../lib/text/count.ts';
import { hasField, isObject, type JsonValue } from '../lib/text/json.ts';
import type { TypesConfig } from './declared-columns.ts';
import { TypeInference } from './infer-types.ts';
import { Page } from './page.ts';
import { fieldOf, withField, type RecordField, type RecordSchema } from './record-schema.ts';
import { indexAsRead, type RejectedRecord } from './rejected-record.ts';
import type { Source } from './source.ts';
import { cellKinds, typedColumns, type TypedField } from './typed-columns.ts';
import { exactConverter, valueConverter } from './typed-conversion.ts';
import { schemaText, typeText } from './type-text.ts';

export interface TypedPagesOptions {
  /** Name of the input in errors. */
  readonly name: string;
  /** Values are texts, of which an empty one is no value of other types than utf8. */
  readonly fromText: boolean;
  /** Whether this holds for inferred types as well: texts of a sheet are no numbers. */
  readonly infersFromText?: boolean;
  /** Records of which a value does not fit its type are rejected instead of ending the read. */
  readonly rejects?: boolean;
}

export interface PagesWithTypes extends TypedPagesOptions {
  readonly config: TypesConfig;
  readonly limit: number | undefined;
  readonly log: Log;
}

/** `read` gives at most this many records. */
export function pagesWithTypes(
  read: (limit: number | undefined) => AsyncIterable<Page>,
  options: PagesWithTypes,
): AsyncIterable<Page> {
  const { columns, infer_types: infers } = options.config;
  if (infers) return inferredPages(read, options);
  const pages = read(options.limit);
  return columns === undefined ? pages : typedPages(pages, columns, options);
}

/** A source whose records get the types of its config. */
export function typedSource(
  source: Source,
  options: TypedPagesOptions & { readonly config: TypesConfig; readonly log: Log },
): Source {
  const { columns, infer_types: infers } = options.config;
  if (columns === undefined && !infers) return source;
  return {
    pages: ({ limit: most, ...request }) =>
      pagesWithTypes(
        (limit) => source.pages(limit === undefined ? request : { ...request, limit }),
        { ...options, rejects: options.rejects === true && request.rejects === true, limit: most },
      ),
    close: () => source.close(),
  };
}

/** Pages keep their form. What else they know of their fields stays known. */
export async function* typedPages(
  pages: AsyncIterable<Page>,
  schema: RecordSchema,
  { name, fromText, infersFromText = fromText, rejects = false }: TypedPagesOptions,
): AsyncGenerator<Page, void> {
  const fields = schema.fields.map((field) =>
    typedField(field, field.evidence === undefined ? fromText : infersFromText),
  );
  const whole = schemaWith(schema);
  let before = 0;
  for await (const page of pages) {
    const columns = page.columns === undefined ? undefined : typedColumns(page.columns, fields);
    const place = (index: number): string => `record ${before + index + 1} of ${name}`;
    const options = { ...optionsOf(page), schema: whole(page.schema) };
    if (rejects) {
      const { records, rejected } = fittingRecords(page, fields, { name, before });
      yield Page.ofRecords(records, { ...options, rejected });
    } else if (columns === undefined) {
      const records = page.records().map((record, index) => typed(record, fields, index, place));
      page.release();
      yield Page.ofRecords(records, options);
    } else yield Page.ofColumns(columns, { ...options, release: () => page.release() });
    before += page.count + page.rejected.length;
  }
}

/** The fields of a file with types of its own, some of which were told to have others. */
function schemaWith(told: RecordSchema): (own: RecordSchema | undefined) => RecordSchema {
  let last: RecordSchema | undefined;
  let whole = told;
  return (own) => {
    if (own === last) return whole;
    last = own;
    whole = own === undefined ? told : told.fields.reduce(withField, own);
    return whole;
  };
}

/** The records that fit, and the others beside those that the page has rejected already. */
function fittingRecords(
  page: Page,
  fields: readonly TypedField[],
  { name, before }: { readonly name: string; readonly before: number },
): { readonly records: JsonValue[]; readonly rejected: readonly RejectedRecord[] } {
  const records: JsonValue[] = [];
  const rejected: RejectedRecord[] = [];
  for (const [position, record] of page.records().entries()) {
    const index = indexAsRead(page.rejected, position);
    const at = page.places?.[position] ?? {};
    const place = (): string =>
      `${at.line === undefined ? `record ${before + index + 1}` : `line ${at.line}`} of ${name}`;
    try {
      records.push(typed(record, fields, position, place));
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      rejected.push({ message: error.message, payload: record, input: name, at, index });
    }
  }
  if (rejected.length === 0) return { records, rejected: page.rejected };
  return { records, rejected: [...page.rejected, ...rejected].sort((a, b) => a.index - b.index) };
}

/** One record, as it would be in a page; `undefined` where that is up to the other records. */
export function typedRecord(
  record: JsonValue,
  { columns, infer_types: infers }: TypesConfig,
  { name, fromText }: TypedPagesOptions,
): JsonValue | undefined {
  if (infers) return undefined;
  const fields = columns?.fields.map((field) => typedField(field, fromText)) ?? [];
  return typed(record, fields, 0, () => `a record of ${name}`);
}

/** Gives records one by one the types of a schema; throws where a value does not fit. */
export function recordTyper(
  { fields }: RecordSchema,
  { name, fromText }: TypedPagesOptions,
): (record: JsonValue) => JsonValue {
  const typedFields = fields.map((field) => typedField(field, fromText));
  return (record) => typed(record, typedFields, 0, () => `a record of ${name}`);
}

function typedField(field: RecordField, fromText: boolean): TypedField {
  const { type, evidence } = field;
  if (evidence === undefined)
    return {
      field,
      convert: valueConverter(type, fromText),
      kindOf: cellKinds(type, { fromText, texts: true }),
    };
  return {
    field,
    convert: exactConverter(type, fromText),
    kindOf: cellKinds(type, { fromText, texts: fromText }),
  };
}

function optionsOf({ bytes, bookmark }: Page): { bytes: number; bookmark?: JsonValue } {
  return bookmark === undefined ? { bytes } : { bytes, bookmark };
}

// Called for single records: an object for the arguments would cost time.
// oxlint-disable-next-line max-params
function typed(
  record: JsonValue,
  fields: readonly TypedField[],
  index: number,
  place: (index: number) => string,
): JsonValue {
  if (!isObject(record)) return record;
  const changed = { ...record };
  for (const { field, convert } of fields) {
    const { name, nullable } = field;
    const value = hasField(record, name) ? (record[name] as JsonValue) : null;
    const converted = convert(value);
    if (converted === undefined) throw misfit(field, place(index));
    if (converted === null && !nullable) throw lacking(field, place(index));
    if (hasField(record, name)) changed[name] = converted;
  }
  return changed;
}

function misfit({ name, type, evidence }: RecordField, place: string): ConnectorError {
  const message = `\`${name}\` in ${place} is no ${typeText(type)}`;
  if (evidence === undefined)
    return new ConnectorError('data', message, {
      hint: 'declare the column as `utf8` and convert it with a `cast` transform that may fail, or correct the data',
    });
  return new ConnectorError(
    'data',
    `${message}, as ${count(evidence.values, 'value')} before it are`,
    {
      hint: `declare its type, which no longer is inferred then: \`columns: {${JSON.stringify(name)}: utf8}\``,
    },
  );
}

function lacking({ name }: { name: string }, place: string): ConnectorError {
  return new ConnectorError('data', `\`${name}\` in ${place} has no value`, {
    hint: 'set `nullable: true` in `columns`, or correct the data',
  });
}

/** The sample from which types are inferred ends with the first of these. */
const SAMPLE = { records: 10_000, letters: 8_000_000 };

/**
 * The limit does not decide the types: the whole sample is read, and records beyond the limit are
 * not given.
 */
async function* inferredPages(
  read: (limit: number | undefined) => AsyncIterable<Page>,
  { config, limit = Infinity, log, ...options }: PagesWithTypes,
): AsyncGenerator<Page, void> {
  if (limit <= 0) return;
  const most = limit === Infinity ? undefined : Math.max(limit, SAMPLE.records);
  const pages = read(most)[Symbol.asyncIterator]();
  try {
    const fromText = options.infersFromText ?? options.fromText;
    const first = await pages.next();
    if (first.done === true) return;
    const own = first.value.schema;
    const declared = config.columns === undefined ? own : schemaWith(config.columns)(own);
    const inference = new TypeInference({ fromText, declared });
    const sample = await sampleOf(first.value, pages, inference);
    const found = inference.schema();
    const schema = { ...found, fields: found.fields.filter((field) => isNew(field, own, config)) };
    log.info(`types are inferred from ${count(inference.records, 'record')}`, {
      input: options.name,
      types: schemaText(schema),
    });
    const all = limited(chained(sample, pages), limit);
    yield* typedPages(all, schema, options);
  } finally {
    await pages.return?.();
  }
}

/** Whether the type of a field is not one that its file tells. */
function isNew(
  { name, evidence }: RecordField,
  own: RecordSchema | undefined,
  { columns }: TypesConfig,
): boolean {
  return evidence !== undefined || own === undefined || fieldOf(columns, name) !== undefined;
}

async function sampleOf(
  first: Page,
  pages: AsyncIterator<Page>,
  inference: TypeInference,
): Promise<Page[]> {
  const sample: Page[] = [];
  let letters = 0;
  for (let page = first; ;) {
    sample.push(page);
    for (const record of page.records()) {
      letters += inference.add(record);
      if (inference.records >= SAMPLE.records || letters >= SAMPLE.letters) return sample;
    }
    const next = await pages.next();
    if (next.done === true) return sample;
    page = next.value;
  }
}

async function* chained(
  first: readonly Page[],
  rest: AsyncIterator<Page>,
): AsyncGenerator<Page, void> {
  yield* first;
  for (;;) {
    const next = await rest.next();
    if (next.done === true) return;
    yield next.value;
  }
}

async function* limited(pages: AsyncIterable<Page>, limit: number): AsyncGenerator<Page, void> {
  let left = limit;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.count;
    if (left <= 0) return;
  }
}

/** The pages of many files, whose formats may differ. */
import type { SourceContext } from '../../../kit/context.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page } from '../../../kit/page.ts';
import type { ReadRequest } from '../../../kit/source.ts';
import { pagesWithTypes, typedPages } from '../../../kit/typed-pages.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import type { Format } from '../formats.ts';
import { requireOneSchema } from '../parquet/parquet-schemas.ts';
import { FolderFields } from './folder-fields.ts';
import type { Input } from './input.ts';
import { NameOrder } from '../json/name-order.ts';
import type { FileReading } from './reading-blocks.ts';
import { openParquet, pagesOf, type Reading } from './read-input.ts';

/** What is to be read, in order. */
export interface Inputs {
  /** What errors and logs call all of it. */
  readonly name: string;
  /** The formats of all; absent where they are not known before they are read. */
  readonly formats?: ReadonlySet<Format>;
  /** Given once. */
  readonly each: Iterable<Input> | AsyncIterable<Input>;
  /** Those whose schemas are compared before the first is read. */
  readonly compared?: readonly Input[];
  /** Whether a JSON document that is no array is one record. */
  readonly loneRecords: boolean;
  /** The bookmark after an input; absent where pages carry none. */
  readonly bookmarkAfter?: ((input: Input) => JsonValue) | undefined;
}

export interface ReadInputs {
  readonly config: FileReading;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

const TEXT_FORMATS: ReadonlySet<Format> = new Set<Format>(['csv', 'xml', 'xlsx']);
const TYPELESS_FORMATS: ReadonlySet<Format> = new Set<Format>(['csv', 'xml']);

/** Whether the values of all are texts. */
export function isFromText(formats: ReadonlySet<Format>): boolean {
  return formats.isSubsetOf(TEXT_FORMATS);
}

export function pagesOfInputs(inputs: Inputs, options: ReadInputs): AsyncIterable<Page> {
  const { config, context, request } = options;
  const { limit, ...rest } = request;
  const read = (most: number | undefined): AsyncIterable<Page> =>
    pagesOfAll(inputs, {
      ...options,
      request: most === undefined ? rest : { ...rest, limit: most },
    });
  if (!config.infer_types) return read(limit);
  const { formats = NO_TEXT, name } = inputs;
  return pagesWithTypes(read, {
    config,
    name,
    fromText: isFromText(formats),
    infersFromText: formats.isSubsetOf(TYPELESS_FORMATS),
    limit,
    log: context.env.log,
    rejects: isRejecting(options),
  });
}

const NO_TEXT: ReadonlySet<Format> = new Set<Format>(['json_lines']);

async function* pagesOfAll(inputs: Inputs, options: ReadInputs): AsyncGenerator<Page> {
  const { config, context, request } = options;
  await requireOneSchema(inputs.compared ?? [], {
    concurrency: config.concurrency,
    open: (input) => openParquet(input, config, context),
  });
  const reading: Reading = {
    config,
    context,
    lane: request.lane,
    rejects: isRejecting(options),
    loneRecords: inputs.loneRecords,
    left: request.limit ?? Infinity,
    avro:
      config.avro.schema === undefined
        ? undefined
        : { schema: config.avro.schema, file: undefined },
    order: new NameOrder(),
    fields: undefined,
    columns: undefined,
  };
  if (reading.left === 0) return;
  const isOneFormat = inputs.formats !== undefined && inputs.formats.size < 2;
  const folders = new FolderFields(config, context.env.log);
  for await (const input of inputs.each) {
    const pages = pagesOf(input, reading);
    const told = folders.pages(isOneFormat ? withFields(pages, reading) : pages, input.name);
    const read = counted(typed(told, input, reading), reading);
    const { bookmarkAfter } = inputs;
    yield* bookmarkAfter === undefined
      ? read
      : bookmarked(read, () => bookmarkAfter(input), reading);
    if (reading.left === 0) return;
  }
}

function typed(
  read: AsyncIterable<Page>,
  { name, format }: Input,
  { config: { columns, infer_types: infers }, rejects }: Reading,
): AsyncIterable<Page> {
  return columns === undefined || infers
    ? read
    : typedPages(read, columns, { name, fromText: TEXT_FORMATS.has(format), rejects });
}

function isRejecting({ config, request }: ReadInputs): boolean {
  return config.on_error === 'dlq' && request.rejects === true;
}

/** Files of several formats have no schema in common. */
async function* withFields(read: AsyncIterable<Page>, reading: Reading): AsyncGenerator<Page> {
  for await (const page of read) yield page.withSchema(reading.fields ?? page.schema);
}

async function* counted(read: AsyncIterable<Page>, reading: Reading): AsyncGenerator<Page> {
  for await (const page of read) {
    reading.left -= page.count;
    yield page;
  }
}

/**
 * The last page of a file says that the file is done; a file without records says so with an empty
 * page.
 */
async function* bookmarked(
  read: AsyncIterable<Page>,
  bookmark: () => JsonValue,
  reading: Reading,
): AsyncGenerator<Page> {
  let last: Page | undefined;
  for await (const page of read) {
    if (last !== undefined) yield last;
    last = page;
  }
  // A file that the limit cut short is read again.
  if (last !== undefined && reading.left === 0) yield last;
  else yield withBookmark(last ?? Page.ofRecords([]), bookmark());
}

function withBookmark(page: Page, bookmark: JsonValue): Page {
  const { bytes, rejected, schema, columns } = page;
  const options = { bookmark, bytes, schema, rejected, release: () => page.release() };
  if (columns !== undefined) return Page.ofColumns(columns, options);
  return page.form.form === 'bytes'
    ? Page.ofBlock(JSON_LINES, page.block(JSON_LINES), page.count, options)
    : Page.ofRecords(page.records(), options);
}

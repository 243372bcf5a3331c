/** Runs the steps of `decode`: from the bytes of a response to records. */
import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import { RECORDS_LANE } from '../../kit/page.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { csvPages } from '../_files/csv/csv-pages.ts';
import { jsonBody, OTHER_FORMAT, LONGEST_ANSWER_BYTES, utf8 } from './body.ts';
import type { DecodeStep, ParseStep } from './decode-config.ts';
import { compilePath, isSingular } from './json-path.ts';
import { sheetChoice, sheetRecords } from '../_files/excel/sheet-records.ts';
import { elementsAt, parseXml } from '../../lib/xml/xml-document.ts';
import { xmlText } from '../../lib/xml/xml-text.ts';
import { unzipMember } from '../_files/compression/zip.ts';

const QUOTE = 34;
const RECORDS_A_BATCH = 1000;
const inflate = promisify(gunzip);

export interface DecodeOptions {
  /** Name of the response in errors. */
  readonly name: string;
  readonly pageBytes: number;
  readonly signal: AbortSignal;
  /** Reads an `extract` path from the bytes; when absent, the path is a JSONPath. */
  readonly extract?: (bytes: Uint8Array, path: string) => JsonValue | undefined;
}

/** Bytes, until `extract` returns a value. */
type Material = Uint8Array | { readonly value: JsonValue };

export async function* decodeAnswer(
  bytes: Uint8Array,
  steps: readonly DecodeStep[],
  options: DecodeOptions,
): AsyncGenerator<readonly JsonValue[]> {
  let material: Material = bytes;
  for (const step of steps) {
    if (typeof step === 'object' && 'parse' in step) {
      yield* parse(material, step.parse, options);
      return;
    }
    material = await apply(material, step, options);
  }
  const value =
    material instanceof Uint8Array
      ? jsonBody(material, options.name, OTHER_FORMAT)
      : material.value;
  yield Array.isArray(value) ? value : [value];
}

async function apply(
  material: Material,
  step: Exclude<DecodeStep, { parse: ParseStep }>,
  options: DecodeOptions,
): Promise<Material> {
  if (step === 'base64') return fromBase64(utf8(asBytes(material)), options.name);
  if (step === 'gunzip') return fromGzip(asBytes(material), options.name);
  if ('unzip' in step) return unzipMember(asBytes(material), options.name, step.unzip.member);
  const found = extracted(material, step.extract, options);
  if (found === undefined)
    throw new ConnectorError('data', `${options.name} has no value at \`${step.extract}\``, {
      hint: 'check `extract`',
    });
  return { value: found };
}

function extracted(
  material: Material,
  path: string,
  options: DecodeOptions,
): JsonValue | undefined {
  if (material instanceof Uint8Array && options.extract !== undefined)
    return options.extract(material, path);
  const value =
    material instanceof Uint8Array
      ? jsonBody(material, options.name, OTHER_FORMAT)
      : material.value;
  return compilePath(path)(value)[0];
}

function asBytes(material: Material): Uint8Array {
  if (material instanceof Uint8Array) return material;
  return Buffer.from(
    typeof material.value === 'string' ? material.value : JSON.stringify(material.value),
  );
}

function fromBase64(text: string, name: string): Uint8Array {
  const compact = text.replaceAll(/\s+/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(compact))
    throw new ConnectorError('data', `${name} is not Base64 text where \`decode\` expects it`);
  return Buffer.from(compact, 'base64');
}

async function fromGzip(bytes: Uint8Array, name: string): Promise<Uint8Array> {
  try {
    return await inflate(bytes, { maxOutputLength: LONGEST_ANSWER_BYTES });
  } catch (error) {
    throw new ConnectorError('data', `${name} is not valid gzip data: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function* parse(
  material: Material,
  step: ParseStep,
  options: DecodeOptions,
): AsyncGenerator<readonly JsonValue[]> {
  const bytes = asBytes(material);
  switch (step.format) {
    case 'json':
      yield jsonRecords(jsonBody(bytes, options.name, OTHER_FORMAT), step.records_path);
      return;
    case 'xml': {
      const document = parseXml(xmlOf(material, options.name), options.name);
      yield step.records_path === undefined ? [document] : elementsAt(document, step.records_path);
      return;
    }
    case 'xlsx':
      yield sheetRecords(bytes, {
        sheet: sheetChoice(step.sheet),
        headerRow: step.header_row,
        name: options.name,
      });
      return;
    case 'csv':
      yield* csvRecords(bytes, step, options);
      return;
    default:
      step.format satisfies never;
  }
}

/** Text out of JSON is decoded already, whatever encoding its declaration names. */
function xmlOf(material: Material, name: string): string {
  return material instanceof Uint8Array || typeof material.value !== 'string'
    ? xmlText(asBytes(material), name)
    : material.value;
}

function jsonRecords(body: JsonValue, path: string | undefined): JsonValue[] {
  const found = path === undefined ? [body] : compilePath(path)(body);
  const [only] = found;
  return Array.isArray(only) && (path === undefined || isSingular(path)) ? only : found;
}

async function* csvRecords(
  bytes: Uint8Array,
  step: ParseStep,
  options: DecodeOptions,
): AsyncGenerator<readonly JsonValue[]> {
  const shape = {
    dialect: { delimiter: step.delimiter, quote: QUOTE },
    hasHeaders: step.has_headers,
    flexible: false,
    nullValues: [],
  };
  const bounds = { records: RECORDS_A_BATCH, bytes: options.pageBytes };
  for await (const page of csvPages(once(bytes), {
    shape,
    lane: RECORDS_LANE,
    bounds,
    name: options.name,
    signal: options.signal,
  }))
    yield page.records();
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A first document from data that is there: looked at, written, and tried before anybody sees it. */
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import { count } from '../../lib/text/count.ts';
import { isObject, parseData, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { Discovered } from '../../kit/source.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { FirstRecords } from '../../engine/preview/first-records.ts';
import { delimitedFindings, type Findings } from '../../features/init/delimited-draft.ts';
import { destinationOf, type Destination } from '../../features/init/destination.ts';
import { documentOf } from '../../features/init/draft.ts';
import { findEncoding } from '../../features/init/find-encoding.ts';
import { FROM_VARIABLE, originOf, TO_VARIABLE, type Origin } from '../../features/init/origin.ts';
import { sampleOfFile, sampleOfUrl, type Sample } from '../../features/init/read-sample.ts';
import { recordFindings, type RecordSource } from '../../features/init/record-findings.ts';
import { testSpecOf } from '../../features/init/test-spec.ts';
import type { CliContext } from '../framework/context.ts';
import { formatYaml } from './format-document.ts';
import { loadPlan } from './load-plan.ts';
import { rowsDocument } from './rows-document.ts';

export interface StartRequest {
  readonly from: string;
  readonly to: string | undefined;
  /** Absent: as the data is called. */
  readonly name: string | undefined;
  /** The file of the document, as messages call it. */
  readonly file: string;
  /** A table or collection of a database. */
  readonly table: string | undefined;
  /** A row for each of them. */
  readonly discover: boolean;
  readonly signal: AbortSignal;
}

export interface Start {
  readonly document: string;
  /** Cases for `headgate test`; absent for a document with several rows. */
  readonly test: string | undefined;
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  /** What was found, for the person at the terminal. */
  readonly notes: readonly string[];
}

/** Records that are read to find types and keys of what has no text to look at. */
const RECORDS_LOOKED_AT = 1000;
const RECORDS_IN_TEST = 3;

export async function startFrom(context: CliContext, request: StartRequest): Promise<Start> {
  const origin = await originOf(request.from, context.world.cwd);
  if (origin.kind === 'database' && (request.discover || request.table === undefined)) {
    const found = await dataSetsOf(context, request, origin);
    if (request.discover) return startWithRows(context, request, origin, found);
    return start(context, { ...request, table: onlyTable(found) }, origin, found);
  }
  if (request.discover)
    throw new AppError('bad_option', '--discover is for databases: a file is one data set', {
      hint: 'leave it out',
    });
  const found = origin.kind === 'database' ? await dataSetsOf(context, request, origin) : [];
  return start(context, request, origin, found);
}

async function start(
  context: CliContext,
  request: StartRequest,
  origin: Origin,
  found: readonly Discovered[],
): Promise<Start> {
  const findings = await findingsOf(context, request, origin, found);
  const name = request.name ?? nameOf(request);
  const destination = destinationOf(request.to, { name, key: findings.key });
  const variables = variablesOf(origin, destination, findings.source.type);
  const draft = documentOf({
    name,
    about: [
      `Written by \`headgate init\` from ${count(findings.records, 'record')} of ${shownPlace(request)}.`,
      'What was found stands beside each setting; change what is wrong.',
    ],
    ...findings,
    advice: [...findings.advice, ...(destination.advice === undefined ? [] : [destination.advice])],
    sink: destination,
    rejected: `${name}-rejected.jsonl`,
  });
  const document = formatYaml(draft, request.file);
  const { input, output } = await tried(context, { document, variables, request });
  const test = testSpecOf({
    document: path.basename(request.file),
    input,
    output,
    keyField: findings.keyField,
  });
  return { document, test, variables, notes: notesOf(findings) };
}

function notesOf({ records, source, fields, key }: Findings): string[] {
  const typed = source.columns.filter(({ type }) => type !== undefined).length;
  return [
    `${count(records, 'record')} looked at: ${count(fields.length, 'field')}` +
      (source.columns.length === 0 ? '' : `, ${typed} of them with a type that is not text`),
    key.length === 0
      ? 'no field has a value of its own in each record, so nothing is used as the key'
      : `\`${key.join('`, `')}\` is different in each record, so it is used as the key`,
  ];
}

async function findingsOf(
  context: CliContext,
  request: StartRequest,
  origin: Origin,
  found: readonly Discovered[],
): Promise<Findings> {
  switch (origin.kind) {
    case 'text': {
      const file = path.resolve(context.world.cwd, origin.path);
      return ofText(context, request, {
        sample: await sampleOfFile(file, origin.path),
        place: { path: origin.path, isUrl: false },
      });
    }
    case 'url': {
      const { fetch } = context.world;
      const sample = await sampleOfUrl(origin.url, { fetch, signal: request.signal });
      return ofText(context, request, { sample, place: { path: origin.written, isUrl: true } });
    }
    case 'typed_file':
      return ofRecords(context, request, {
        type: 'file',
        settings: [
          { key: 'path', value: origin.path },
          { key: 'format', value: origin.format },
        ],
        takesTypes: origin.format === 'xml',
      });
    case 'database': {
      const config = { ...origin.config, ...dataSet(found, request.table).config_patch };
      const settings = Object.entries(config).map(([key, value]) => ({ key, value }));
      return ofRecords(context, request, { type: origin.type, settings, takesTypes: false });
    }
    default:
      return origin satisfies never;
  }
}

interface Text {
  readonly sample: Sample;
  readonly place: { readonly path: string; readonly isUrl: boolean };
}

async function ofText(
  context: CliContext,
  request: StartRequest,
  { sample, place }: Text,
): Promise<Findings> {
  const json = jsonForm(findEncoding(sample.bytes).text, sample.isWhole);
  if (json === undefined) {
    const findings = delimitedFindings(sample, place);
    if (findings !== undefined) return findings;
    throw new AppError('empty_file', `${place.path} has no record to look at`, {
      hint: 'name a file with some records, or begin with `headgate init --source csv`',
    });
  }
  const settings = [{ key: 'path', value: place.path }];
  if (json.kind === 'lines' && !place.isUrl)
    return ofRecords(context, request, { type: 'jsonl', settings, takesTypes: true });
  if (json.kind === 'object') return ofRecords(context, request, restSource(place, json.list));
  const format = json.kind === 'lines' ? 'json_lines' : 'json_array';
  return ofRecords(context, request, {
    type: 'file',
    settings: [...settings, { key: 'format', value: format }],
    takesTypes: true,
  });
}

type JsonForm =
  | { readonly kind: 'lines' | 'array' }
  /** `list`: the name of its first list of objects. */
  | { readonly kind: 'object'; readonly list: string | undefined };

/** `undefined` for what is no JSON. */
function jsonForm(text: string, isWhole: boolean): JsonForm | undefined {
  const begin = text.trimStart();
  if (begin.startsWith('[')) return { kind: 'array' };
  if (!begin.startsWith('{')) return undefined;
  const [first = ''] = begin.split('\n', 1);
  if (isJson(first) && (begin.trimEnd() !== first.trimEnd() || !isWhole)) return { kind: 'lines' };
  if (!isJson(begin)) return isJson(first) ? { kind: 'lines' } : undefined;
  const whole = parseData(begin);
  const lists = isObject(whole)
    ? Object.entries(whole).filter(([, value]) => Array.isArray(value) && value.some(isObject))
    : [];
  return lists.length === 0 ? { kind: 'lines' } : { kind: 'object', list: lists[0]?.[0] };
}

function isJson(text: string): boolean {
  try {
    parseData(text);
    return true;
  } catch {
    return false;
  }
}

function restSource({ path: place, isUrl }: Text['place'], list: string | undefined): RecordSource {
  if (!isUrl)
    throw new AppError('bad_option', `${place} is one JSON object, not a list of records`, {
      hint: 'save its list as a file of its own, one record a line',
    });
  const url = new URL(place);
  const { origin, pathname, searchParams } = url;
  const params = Object.fromEntries(searchParams);
  return {
    type: 'rest',
    settings: [
      { key: 'base_url', value: origin },
      { key: 'path', value: pathname },
      ...(Object.keys(params).length === 0 ? [] : [{ key: 'query_params', value: params }]),
      ...(list === undefined
        ? []
        : [
            {
              key: 'records_path',
              value: `$[${stringifyJson(list)}][*]`,
              because: `the answer is an object, whose list ${JSON.stringify(list)} has the records; set \`pagination\` if it has more pages`,
            },
          ]),
    ],
    takesTypes: true,
  };
}

/** By what the source itself gives. */
async function ofRecords(
  context: CliContext,
  request: StartRequest,
  source: RecordSource,
): Promise<Findings> {
  const origin = await originOf(request.from, context.world.cwd);
  const config = Object.fromEntries(source.settings.map(({ key, value }) => [key, value]));
  const document = stringifyJson({
    version: 1,
    name: 'look',
    pipeline: { source: { type: source.type, config }, sink: { type: 'stdout', config: {} } },
  });
  const variables = variablesOf(origin, undefined, source.type);
  const { row, plan, parts } = await loaded(context, document, variables);
  const { records, schema } = await read(context, request, {
    row,
    plan,
    parts,
    limit: RECORDS_LOOKED_AT,
  });
  if (records.length === 0)
    throw new AppError('empty_file', `${shownPlace(request)} has no record to look at`, {
      hint: 'begin with `headgate init --source TYPE`, and fill in the settings',
    });
  return recordFindings(records, schema, source);
}

interface Loaded {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly row: PlannedRow;
}

async function loaded(
  context: CliContext,
  text: string,
  paramEnv: Readonly<Record<string, string>>,
): Promise<Loaded> {
  const given = { name: 'the document', text, format: 'yaml' as const, binding: { paramEnv } };
  const { plan, parts } = await loadPlan(context, { config: undefined, given });
  const [row] = plan.rows;
  if (row === undefined) throw new Error('cannot happen: a document without rows');
  return { plan, parts, row };
}

async function read(
  context: CliContext,
  { signal }: StartRequest,
  { limit, ...loadedPlan }: Loaded & { readonly limit: number },
): Promise<FirstRecords> {
  const { firstRecords } = await import('../../engine/preview/first-records.ts');
  const env = context.envAt('error');
  return firstRecords({ ...loadedPlan, env, limit, clock: context.world.clock.now(), signal });
}

/** The first records before and after the stages of the document: it is known to work then. */
async function tried(
  context: CliContext,
  {
    document,
    variables,
    request,
  }: {
    readonly document: string;
    readonly variables: Readonly<Record<string, string>>;
    readonly request: StartRequest;
  },
): Promise<{ readonly input: readonly JsonValue[]; readonly output: readonly JsonValue[] }> {
  const { traceStages } = await import('../../engine/preview/trace-stages.ts');
  const all = await loaded(context, document, variables);
  const { records, schema } = await read(context, request, { ...all, limit: RECORDS_IN_TEST });
  const { plan, row } = all;
  const env = context.envAt('error');
  const clock = context.world.clock.now();
  const traced = await traceStages({
    plan,
    row,
    records,
    schema,
    env,
    clock,
    signal: request.signal,
  });
  if (traced.error !== undefined)
    throw new AppError(
      'bad_config',
      `the document that was written does not work: ${traced.error}`,
    );
  return { input: records, output: traced.output };
}

type Database = Extract<Origin, { readonly kind: 'database' }>;

async function dataSetsOf(
  context: CliContext,
  { signal }: StartRequest,
  origin: Database,
): Promise<readonly Discovered[]> {
  const { discover } = await import('../../engine/discovery/discover.ts');
  const { onlySource } = await import('../../features/discovery/only-source.ts');
  const text = stringifyJson({
    version: 1,
    name: 'look',
    pipeline: {
      source: { type: origin.type, config: origin.config },
      sink: { type: 'stdout', config: {} },
    },
  });
  const binding = { paramEnv: variablesOf(origin, undefined, origin.type) };
  const { plan, parts } = await loadPlan(context, {
    config: undefined,
    given: { name: 'the document', text, format: 'yaml', binding },
    adapt: (document, known) => onlySource(document, known, undefined),
  });
  const clock = context.world.clock.now();
  const { env } = context;
  const found = await discover({ plan, parts, env, clock, signal, include: [], exclude: [] });
  if (found.length > 0) return found;
  throw new AppError('missing', 'the database has no table', { hint: 'name another database' });
}

function onlyTable(found: readonly Discovered[]): string {
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first.name;
  throw new AppError('bad_option', `the database has ${count(found.length, 'table')}`, {
    hint: `name one with \`--table\` (${shownNames(found)}), or use \`--discover\` for a row each`,
  });
}

function dataSet(found: readonly Discovered[], table: string | undefined): Discovered {
  const one =
    found.find(({ name }) => name === table) ??
    found.find(({ name }) => name.split('.').at(-1) === table);
  if (one !== undefined) return one;
  throw new AppError('bad_option', `--table: there is no \`${table}\``, {
    hint: `there are ${shownNames(found)}`,
  });
}

const MOST_NAMES = 8;

function shownNames(found: readonly Discovered[]): string {
  const names = found.slice(0, MOST_NAMES).map(({ name }) => name);
  return names.join(', ') + (found.length > MOST_NAMES ? ', …' : '');
}

async function startWithRows(
  context: CliContext,
  request: StartRequest,
  origin: Database,
  found: readonly Discovered[],
): Promise<Start> {
  const name = request.name ?? nameOf(request);
  const destination = destinationOf(request.to, { name, key: [] });
  const variables = variablesOf(origin, destination, origin.type);
  const text = documentOf({
    name,
    about: [
      `Written by \`headgate init --discover\`: a row for each of ${found.length} data sets.`,
    ],
    source: {
      type: origin.type,
      settings: Object.entries(origin.config).map(([key, value]) => ({ key, value })),
      columns: [],
    },
    transforms: [],
    fields: [],
    advice: destination.advice === undefined ? [] : [destination.advice],
    sink: destination,
    rejected: `${name}-rejected.jsonl`,
  });
  const rows = rowsDocument({ text, format: 'yaml', found, preset: undefined });
  const document = formatYaml(rows, request.file);
  await loaded(context, document, variables);
  return {
    document,
    test: undefined,
    variables,
    notes: [`${count(found.length, 'data set')} found: ${shownNames(found)}`],
  };
}

function variablesOf(
  origin: Origin,
  destination: Destination | undefined,
  sourceType: string,
): Readonly<Record<string, string>> {
  const from = origin.kind === 'database' ? origin.variable : undefined;
  const secrets = origin.kind === 'url' ? origin.secrets : [];
  return {
    ...(from === undefined ? {} : { [FROM_VARIABLE]: from }),
    // `rest` encodes its parameters itself.
    ...Object.fromEntries(
      secrets.map(({ variable, encoded }) => [
        variable,
        sourceType === 'rest' ? (new URLSearchParams(`v=${encoded}`).get('v') ?? '') : encoded,
      ]),
    ),
    ...(destination?.variable === undefined ? {} : { [TO_VARIABLE]: destination.variable }),
  };
}

/** Without what an address may hold of logins. */
function shownPlace({ from, table }: StartRequest): string {
  const bare = from.replace(/\/\/[^/]*@/, '//').replace(/\?.*$/, '');
  return table === undefined ? bare : `${table} in ${bare}`;
}

/** The table, or the file without its extensions. */
function nameOf({ from, table }: StartRequest): string {
  const last = (table ?? from).split(/[?#]/)[0]?.split(/[/\\]/).at(-1) ?? '';
  const stem =
    table === undefined ? last.replace(/(?:\.[a-z0-9]+)+$/i, '') : (last.split('.').at(-1) ?? last);
  const plain = stem.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-+|-+$/g, '');
  return plain === '' ? 'pipeline' : plain.toLowerCase();
}

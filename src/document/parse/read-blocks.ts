/**
 * The blocks of a document, each read by its own schema. Faults are collected, never thrown, so
 * that all are reported at once.
 */
import type { ZodType } from 'zod';
import { check, type Check } from '../../kit/schema.ts';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { BlockGrammar } from '../block.ts';
import { compositionRefusal } from '../compose/origin.ts';
import type { Document } from '../document.ts';
import type { Grammar } from '../grammar.ts';
import { providerSchema, type ProviderSpec } from '../structure/auth.ts';
import type { RowSpec } from '../structure/matrix.ts';
import { sinkSchema, type SinkSpec } from '../structure/sink.ts';
import type { SourceSpec } from '../structure/source.ts';
import { edgeSchema, nodeSchema, type EdgeSpec, type NodeSpec } from '../structure/topology.ts';
import { transformSchema, type TransformSpec } from '../structure/transform.ts';
import { isFull, withPlaces } from '../text/locate.ts';
import { restoreEscapes } from '../tokens/tokens.ts';
import { holdsPrototype, refusePrototypes } from './prototype-keys.ts';
import { readValid, readValidWith } from './read-valid.ts';
import { stepsOf } from './steps.ts';

/** A block and its place. */
export interface Placed<T> {
  readonly path: string;
  readonly value: T;
}

/** Sources or sinks by name; `undefined` where one is declared but cannot be read. */
export type Presets<T> = ReadonlyMap<string, Placed<T> | undefined>;

export interface PipelineBlocks {
  /** Whether the document has a `pipeline` at all. */
  readonly present: boolean;
  readonly sources: Presets<SourceSpec>;
  readonly sinks: Presets<SinkSpec>;
  readonly transforms: readonly Placed<TransformSpec>[];
  /**
   * `undefined` where the document has rows instead; a node that cannot be read is there without a
   * value.
   */
  readonly nodes: ReadonlyMap<string, Placed<NodeSpec> | undefined> | undefined;
  readonly edges: readonly Placed<EdgeSpec>[];
}

export interface ParsedRow {
  readonly path: string;
  /** Place in the matrix as written. */
  readonly index: number;
  readonly spec: RowSpec;
  /** It says that it lists values, but not so that it can be read: the spec does not hold that. */
  readonly hasFaultyList?: true;
}

export interface ParsedBlocks {
  readonly pipeline: PipelineBlocks;
  /** `undefined` without a matrix; an empty one counts as none. */
  readonly matrix: readonly ParsedRow[] | undefined;
  readonly auth: ReadonlyMap<string, Placed<ProviderSpec> | undefined>;
  /** The blocks that the document has, by name; `parsedBlock` knows their types. */
  readonly named: ReadonlyMap<string, Placed<unknown>>;
}

/** A block of the document; `undefined` where it has none, or none that can be read. */
export function parsedBlock<Spec>(
  { named }: Pick<ParsedBlocks, 'named'>,
  { name }: BlockGrammar<Spec>,
): Placed<Spec> | undefined {
  return named.get(name) as Placed<Spec> | undefined;
}

/** What a row says itself: `null` for none, `undefined` for what stands above. */
export function ownBlock<Spec>(
  { spec }: { readonly spec: Readonly<Record<string, unknown>> },
  { name }: BlockGrammar<Spec>,
): Spec | null | undefined {
  return spec[name] as Spec | null | undefined;
}

interface Reading {
  readonly grammar: Grammar;
  readonly issues: Issue[];
  /** May know what was checked before. */
  readonly checking?: Check | undefined;
}

export function readBlocks(document: Document, reading: Reading): ParsedBlocks {
  const { grammar, issues } = reading;
  refuseTemplate(document);
  const root = withoutComposition(document, issues);
  refuseUnknownKeys(root, '', reading);
  readHead(root, grammar, issues);
  const blocks = {
    pipeline: readPipeline(root['pipeline'], reading),
    matrix: readMatrix(root['matrix'], reading),
    auth: readNamed(root['auth'], 'auth', issues, (value, path) =>
      readValid(providerSchema, restored(value), path, issues),
    ),
    named: readNamedBlocks(root, reading),
  };
  const judged = { ...root, vars: null };
  if (holdsPrototype(judged)) refusePrototypes(judged, '', issues);
  return blocks;
}

const PART_KINDS = ['source-template', 'sink-template', 'deployment'];

/** A part of a pipeline has other keys: naming each of them would help nobody. */
function refuseTemplate({ tree: { kind }, locate }: Document): void {
  if (typeof kind !== 'string' || !PART_KINDS.includes(kind)) return;
  const issue: Issue = {
    code: 'template_kind',
    path: 'kind',
    message: `this is a ${kind}, which is only a part of a pipeline`,
    hint: 'run a pair with `headgate run --source FILE --sink FILE`, or register it with `headgate template register FILE`',
  };
  throw new ConfigError(withPlaces([issue], locate));
}

function readHead(root: JsonObject, grammar: Grammar, issues: Issue[]): void {
  const { shape } = grammar.document._zod.innerType;
  if (root['version'] === undefined || root['version'] === null) {
    issues.push({
      code: 'missing_key',
      path: '',
      message: '`version` is required',
      hint: 'write `version: 1` at the top',
    });
  } else {
    readValid(shape.version, root['version'], 'version', issues);
  }
  for (const key of ['kind', 'name', 'vars'] as const)
    readValid(shape[key] as ZodType, restored(root[key]), key, issues);
}

function readNamedBlocks(
  root: JsonObject,
  { grammar, issues, checking = check }: Reading,
): ReadonlyMap<string, Placed<unknown>> {
  const { pipeline } = root;
  const named = new Map<string, Placed<unknown>>();
  for (const { name, placement, schema, asWritten } of grammar.blocks) {
    if (placement === 'source') continue;
    const within = placement === 'top' ? root : isObject(pipeline) ? pipeline : {};
    const found = within[name];
    if (found === undefined || found === null) continue;
    const path = placement === 'top' ? name : joinPath('pipeline', name);
    const value = readValidWith(checking)(
      schema,
      asWritten === true ? found : restored(found),
      path,
      issues,
    );
    if (value !== undefined) named.set(name, { path, value });
  }
  return named;
}

/** Files are composed before; what is left of it came with a submission. */
function withoutComposition({ tree }: Document, issues: Issue[]): JsonObject {
  const { extends: bases, profiles, ...rest } = tree;
  if (bases !== undefined) issues.push(compositionRefusal('extends', 'extends'));
  if (profiles !== undefined) issues.push(compositionRefusal('profiles', 'profiles'));
  return rest;
}

function readPipeline(value: JsonValue | undefined, reading: Reading): PipelineBlocks {
  const { grammar, issues, checking = check } = reading;
  const read = readValidWith(checking);
  const path = 'pipeline';
  const given = isObject(value) ? value : undefined;
  if (given === undefined) {
    issues.push(
      value === undefined || value === null
        ? {
            code: 'missing_key',
            path,
            message: '`pipeline` is required',
            hint: 'give it a `source` and a `sink`',
          }
        : { code: 'wrong_type', path, message: 'expected a mapping' },
    );
  }
  const pipeline = given ?? {};
  refuseUnknownKeys(pipeline, path, reading);
  return {
    present: given !== undefined,
    sources: readPresets(
      pipeline,
      'source',
      (spec, at) => read(grammar.source, spec, at, issues),
      issues,
    ),
    sinks: readPresets(pipeline, 'sink', (spec, at) => readSink(spec, at, reading), issues),
    transforms: readList(pipeline['transforms'], joinPath(path, 'transforms'), issues, (item, at) =>
      read(transformSchema, item, at, issues),
    ),
    ...readGraph(pipeline, path, reading),
  };
}

/** An empty map of nodes is none. */
function readGraph(
  pipeline: JsonObject,
  above: string,
  reading: Reading,
): Pick<PipelineBlocks, 'nodes' | 'edges'> {
  const { issues } = reading;
  const path = joinPath(above, 'nodes');
  const nodes = readNamed(pipeline['nodes'], path, issues, (value, at) =>
    readNode(value, at, reading),
  );
  const edges = readList(pipeline['edges'], joinPath(above, 'edges'), issues, (value, at) =>
    readValid(edgeSchema, restored(value), at, issues),
  );
  if (nodes.size === 0 && edges.length > 0) {
    issues.push({
      code: 'missing_key',
      path,
      message: 'there are edges but no nodes',
      hint: 'declare the nodes they join under `pipeline.nodes`',
    });
  }
  return { nodes: nodes.size === 0 ? undefined : nodes, edges };
}

/**
 * Settings of parts are left as they are: what is escaped in them is put back when they are parsed.
 */
function readNode(value: JsonValue, path: string, reading: Reading): NodeSpec | undefined {
  const { issues } = reading;
  const kind = isObject(value) ? value['kind'] : undefined;
  if (!isObject(value) || kind === 'transform') return readValid(nodeSchema, value, path, issues);
  if (kind === 'source') return readValid(nodeSchema, value, path, issues);
  return readValid(
    nodeSchema,
    kind === 'sink' ? withoutSourceKeys(value, path, reading) : restored(value),
    path,
    issues,
  );
}

type ReadOne<T> = (value: JsonValue, path: string) => T | undefined;

function readPresets<T>(
  pipeline: JsonObject,
  role: 'source' | 'sink',
  read: ReadOne<T>,
  issues: Issue[],
): Presets<T> {
  const path = `pipeline.${role}s`;
  const presets = new Map(readNamed(pipeline[`${role}s`], path, issues, read));
  const single = pipeline[role];
  if (single === undefined || single === null) return presets;
  if (presets.has('default')) {
    const message = `\`pipeline.${role}\` and \`${path}.default\` are the same preset, declared twice`;
    issues.push({
      code: 'duplicate_template',
      path: `pipeline.${role}`,
      message,
      hint: 'keep one of them',
    });
  }
  const at = `pipeline.${role}`;
  const value = read(single, at);
  presets.set('default', value === undefined ? undefined : { path: at, value });
  return presets;
}

function readNamed<T>(
  value: JsonValue | undefined,
  path: string,
  issues: Issue[],
  read: ReadOne<T>,
): Map<string, Placed<T> | undefined> {
  const named = new Map<string, Placed<T> | undefined>();
  if (value === undefined || value === null) return named;
  if (!isObject(value)) {
    issues.push({ code: 'wrong_type', path, message: 'expected a mapping of names' });
    return named;
  }
  for (const [name, item] of Object.entries(value)) {
    const at = joinPath(path, name);
    const one = read(item, at);
    named.set(name, one === undefined ? undefined : { path: at, value: one });
  }
  return named;
}

function readSink(value: JsonValue, path: string, reading: Reading): SinkSpec | undefined {
  return readValid(sinkSchema, withoutSourceKeys(value, path, reading), path, reading.issues);
}

/** Keys that work only on a source get a sentence of their own. */
function withoutSourceKeys(
  value: JsonValue,
  path: string,
  { grammar, issues }: Pick<Reading, 'grammar' | 'issues'>,
): JsonValue {
  if (!isObject(value)) return value;
  const wrong = [...grammar.onlyOnSources].filter(([key]) => Object.hasOwn(value, key));
  if (wrong.length === 0) return value;
  for (const [key, hint] of wrong) {
    issues.push({
      code: 'not_on_sink',
      path: joinPath(path, key),
      message: `the sink at \`${path}\` cannot have \`${key}\``,
      hint,
    });
  }
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => !grammar.onlyOnSources.has(key)),
  );
}

function readList<T>(
  value: JsonValue | undefined,
  path: string,
  issues: Issue[],
  read: ReadOne<T>,
): Placed<T>[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    issues.push({
      code: 'wrong_type',
      path,
      message: `expected a list of ${stepsOf(path).at(-1)}`,
    });
    return [];
  }
  return value.flatMap((item, index) => {
    const at = joinPath(path, index);
    const one = read(item, at);
    return one === undefined ? [] : [{ path: at, value: one }];
  });
}

function readMatrix(value: JsonValue | undefined, reading: Reading): ParsedRow[] | undefined {
  const { issues } = reading;
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    issues.push({ code: 'wrong_type', path: 'matrix', message: 'expected a list of rows' });
    return undefined;
  }
  if (value.length === 0) return undefined;
  return value.map((item, index) => readRow(item, index, reading));
}

const LIST_KEYS = ['fan_out', 'discover'] as const;

function readRow(item: JsonValue, index: number, { grammar, issues }: Reading): ParsedRow {
  const path = `matrix[${index}]`;
  let given = item;
  if (isObject(given)) {
    refuseLoneParentKey(given, path, issues);
    const { sink } = given;
    if (isObject(sink))
      given = {
        ...given,
        sink: withoutSourceKeys(sink, joinPath(path, 'sink'), { grammar, issues }),
      };
  }
  const spec: RowSpec = readValid(grammar.row, given, path, issues) ?? {};
  const lostList =
    isObject(given) &&
    LIST_KEYS.some((key) => (given[key] ?? null) !== null && spec[key] === undefined);
  return { path, index, spec, ...(lostList ? { hasFaultyList: true } : {}) };
}

function refuseLoneParentKey(
  { parent, parent_key: key }: JsonObject,
  path: string,
  issues: Issue[],
): void {
  if (key === undefined || key === null || (parent !== undefined && parent !== null)) return;
  const message = '`parent_key` has no effect without `parent`';
  issues.push({
    code: 'missing_key',
    path: joinPath(path, 'parent_key'),
    message,
    hint: 'give the row a `parent`, or remove the key',
  });
}

function refuseUnknownKeys(
  mapping: JsonObject,
  place: '' | 'pipeline',
  { grammar, issues }: Reading,
): void {
  const [top, inside] = [grammar.document, grammar.pipeline].map((one) =>
    Object.keys(one._zod.innerType.shape),
  ) as [string[], string[]];
  const known = place === '' ? top : inside;
  const isKnown = new Set(known);
  for (const key of Object.keys(mapping)) {
    if (isFull(issues)) return;
    if (isKnown.has(key)) continue;
    const hint =
      place === '' && inside.includes(key)
        ? 'it belongs inside `pipeline`'
        : place === 'pipeline' && top.includes(key)
          ? 'it belongs at the top of the document, beside `pipeline`'
          : suggestion(key, known, 'known keys');
    issues.push({
      code: 'unknown_key',
      path: joinPath(place, key),
      message: `unknown key \`${key}\``,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function restored(value: JsonValue | undefined): JsonValue | undefined {
  return value === undefined ? undefined : restoreEscapes(value);
}

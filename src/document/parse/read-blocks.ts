/**
 * The blocks of a document, each read by its own schema. Faults are collected, never thrown, so
 * that all are told at once.
 */
import type { ZodType } from 'zod';
import { check, type Check } from '../../kit/schema.ts';
import type { Issue } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { providerSchema, type ProviderSpec } from '../blocks/auth.ts';
import { backfillSchema, type BackfillSpec } from '../blocks/backfill.ts';
import { catalogSchema, type CatalogSpec } from '../blocks/catalog.ts';
import { contractBlock, type ContractConfig } from '../blocks/contract.ts';
import { dlqSchema, type DlqSpec } from '../blocks/dlq.ts';
import { documentSchema } from '../blocks/document.ts';
import type { Delivery } from '../blocks/delivery.ts';
import { executionSchema, type ExecutionSpec } from '../blocks/execution.ts';
import { lineageSchema, type LineageSpec } from '../blocks/lineage.ts';
import { localOutputsSchema, type LocalOutputsConfig } from '../blocks/local-outputs.ts';
import { maskingBlock, type MaskingConfig } from '../blocks/masking.ts';
import { rowSchema, type RowSpec } from '../blocks/matrix.ts';
import { metadataColumnsBlock, type MetadataColumnsSpec } from '../blocks/metadata-columns.ts';
import { observabilitySchema, type ObservabilityConfig } from '../blocks/observability.ts';
import { notificationsSchema, type NotificationRule } from '../blocks/notifications.ts';
import { partitionSchema } from '../blocks/partition.ts';
import { pipelineSchema } from '../blocks/pipeline.ts';
import { qualityBlock, type QualityConfig } from '../blocks/quality.ts';
import { reconcileSchema, type ReconcileSpec } from '../blocks/reconcile.ts';
import { resilienceSchema, type ResilienceSpec } from '../blocks/resilience.ts';
import { rollbackSchema, type RollbackConfig } from '../blocks/rollback.ts';
import { scheduleSchema, type ScheduleSpec } from '../blocks/schedule.ts';
import { schemaDriftBlock, type SchemaDriftConfig } from '../blocks/schema-drift.ts';
import { selectionSchema, type SelectionSpec } from '../blocks/selection.ts';
import { sinkSchema, type SinkSpec } from '../blocks/sink.ts';
import { shardSchema, type ShardSpec } from '../blocks/shard.ts';
import { slaSchema, type SlaConfig } from '../blocks/sla.ts';
import { sourceSchema, type SourceSpec } from '../blocks/source.ts';
import { stateSchema, type StateSpec } from '../blocks/state.ts';
import { edgeSchema, nodeSchema, type EdgeSpec, type NodeSpec } from '../blocks/topology.ts';
import { transformSchema, type TransformSpec } from '../blocks/transform.ts';
import { verifySchema, type VerifySpec } from '../blocks/verify.ts';
import type { PartitionSpec } from '../ranges/chunks.ts';
import type { Document } from '../document.ts';
import { isFull } from '../text/locate.ts';
import { withoutUnavailable } from './not-available.ts';
import { compositionRefusal } from '../compose/origin.ts';
import { holdsPrototype, refusePrototypes } from './prototype-keys.ts';
import { salvage, salvageBy, type Salvage } from './salvage.ts';
import { stepsOf } from './steps.ts';
import { restoreEscapes } from '../tokens/tokens.ts';

/** A block and where it stands. */
export interface Placed<T> {
  readonly path: string;
  readonly value: T;
}

/** Templates by name; `undefined` where one is declared but cannot be read. */
export type Templates<T> = ReadonlyMap<string, Placed<T> | undefined>;

export interface PipelineBlocks {
  /** Whether the document has a `pipeline` at all. */
  readonly present: boolean;
  readonly sources: Templates<SourceSpec>;
  readonly sinks: Templates<SinkSpec>;
  readonly transforms: readonly Placed<TransformSpec>[];
  readonly state: Placed<StateSpec> | undefined;
  readonly dlq: Placed<DlqSpec> | undefined;
  readonly quality: QualityConfig | undefined;
  readonly contract: ContractConfig | undefined;
  readonly masking: MaskingConfig | undefined;
  readonly schema: SchemaDriftConfig | undefined;
  /**
   * `undefined` where the document has rows instead; a node that cannot be read is there without a
   * value.
   */
  readonly nodes: ReadonlyMap<string, Placed<NodeSpec> | undefined> | undefined;
  readonly edges: readonly Placed<EdgeSpec>[];
}

export interface PlacedRow {
  readonly path: string;
  /** Place in the matrix as written. */
  readonly index: number;
  readonly spec: RowSpec;
  /** It says that it lists values, but not so that it can be read: the spec does not hold that. */
  readonly hasFaultyList?: true;
}

export interface Blocks {
  readonly pipeline: PipelineBlocks;
  /** `undefined` without a matrix; an empty one counts as none. */
  readonly matrix: readonly PlacedRow[] | undefined;
  readonly auth: ReadonlyMap<string, Placed<ProviderSpec> | undefined>;
  readonly execution: ExecutionSpec | undefined;
  readonly selection: SelectionSpec | undefined;
  readonly delivery: Delivery | undefined;
  readonly resilience: ResilienceSpec | undefined;
  readonly metadataColumns: MetadataColumnsSpec | undefined;
  /** As written: the name of its jobs holds tokens. */
  readonly lineage: LineageSpec | undefined;
  readonly catalog: CatalogSpec | undefined;
  readonly notifications: readonly NotificationRule[] | undefined;
  readonly localOutputs: LocalOutputsConfig | undefined;
  readonly observability: ObservabilityConfig | undefined;
  readonly rollback: RollbackConfig | undefined;
  readonly sla: Placed<SlaConfig> | undefined;
  readonly partition: Placed<PartitionSpec> | undefined;
  readonly shard: ShardSpec | undefined;
  /** The block `schedule`. */
  readonly recurrence: ScheduleSpec | undefined;
  readonly backfill: BackfillSpec | undefined;
  /** As written: its source is completed like every other. */
  readonly reconcile: ReconcileSpec | undefined;
  /** As written, for the same reason. */
  readonly verify: VerifySpec | undefined;
}

/** `checking` may know what was checked before. */
export function readBlocks(document: Document, issues: Issue[], checking: Check = check): Blocks {
  const root = withoutUnavailable('document', withoutComposition(document, issues), '', issues);
  const { shape } = documentSchema._zod.innerType;
  refuseUnknownKeys(root, shape, '', issues);
  if (root['version'] === undefined || root['version'] === null) {
    issues.push({
      code: 'missing_key',
      path: '',
      message: '`version` is required',
      hint: 'write `version: 1` at the top',
    });
  } else {
    salvage(shape.version, root['version'], 'version', issues);
  }
  for (const key of ['kind', 'name', 'vars'] as const)
    salvage(shape[key] as ZodType, restored(root[key]), key, issues);
  const delivery = salvage(shape.delivery, restored(root['delivery']), 'delivery', issues);
  const blocks = {
    pipeline: readPipeline(root['pipeline'], issues, salvageBy(checking)),
    matrix: readMatrix(root['matrix'], issues),
    auth: readNamed(root['auth'], 'auth', issues, (value, path) =>
      salvage(providerSchema, restored(value), path, issues),
    ),
    execution: readMapping(root['execution'], 'execution', executionSchema, issues),
    selection: readMapping(root['selection'], 'selection', selectionSchema, issues),
    resilience: readMapping(root['resilience'], 'resilience', resilienceSchema, issues),
    sla: placedAt('sla', readBlock(root, 'sla', slaSchema, issues)),
    shard: readBlock(root, 'shard', shardSchema, issues),
    partition: placedAt('partition', readBlock(root, 'partition', partitionSchema, issues)),
    recurrence: readBlock(root, 'schedule', scheduleSchema, issues),
    backfill: readBlock(root, 'backfill', backfillSchema, issues),
    reconcile:
      root['reconcile'] === undefined || root['reconcile'] === null
        ? undefined
        : salvage(reconcileSchema, root['reconcile'], 'reconcile', issues),
    rollback: readBlock(root, 'rollback', rollbackSchema, issues),
    verify:
      root['verify'] === undefined || root['verify'] === null
        ? undefined
        : salvage(verifySchema, root['verify'], 'verify', issues),
    lineage:
      root['lineage'] === undefined || root['lineage'] === null
        ? undefined
        : salvage(lineageSchema, root['lineage'], 'lineage', issues),
    catalog: readBlock(root, 'catalog', catalogSchema, issues),
    metadataColumns: readBlock(root, 'metadata_columns', metadataColumnsBlock.schema, issues),
    localOutputs: readBlock(root, 'local_outputs', localOutputsSchema, issues),
    observability: readBlock(root, 'observability', observabilitySchema, issues),
    notifications: readBlock(root, 'notifications', notificationsSchema, issues),
    delivery,
  };
  const judged = { ...root, vars: null };
  if (holdsPrototype(judged)) refusePrototypes(judged, '', issues);
  return blocks;
}

/** Files are composed before; what is left of it came with a submission. */
function withoutComposition({ tree }: Document, issues: Issue[]): JsonObject {
  const { extends: bases, profiles, ...rest } = tree;
  if (bases !== undefined) issues.push(compositionRefusal('extends', 'extends'));
  if (profiles !== undefined) issues.push(compositionRefusal('profiles', 'profiles'));
  return rest;
}

function readPipeline(
  value: JsonValue | undefined,
  issues: Issue[],
  read: Salvage,
): PipelineBlocks {
  const path = 'pipeline';
  const given = isObject(value) ? withoutUnavailable('pipeline', value, path, issues) : undefined;
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
  refuseUnknownKeys(pipeline, pipelineSchema._zod.innerType.shape, path, issues);
  const block = <T>(key: string, schema: ZodType<T>): T | undefined => {
    const found = pipeline[key];
    return found === undefined || found === null
      ? undefined
      : read(schema, restored(found), joinPath(path, key), issues);
  };
  const placed = <T>(key: string, schema: ZodType<T>): Placed<T> | undefined => {
    const found = block(key, schema);
    return found === undefined ? undefined : { path: joinPath(path, key), value: found };
  };
  return {
    present: given !== undefined,
    sources: readTemplates(
      pipeline,
      'source',
      (spec, at) => read(sourceSchema, spec, at, issues),
      issues,
    ),
    sinks: readTemplates(pipeline, 'sink', (spec, at) => readSink(spec, at, issues), issues),
    transforms: readList(pipeline['transforms'], joinPath(path, 'transforms'), issues, (item, at) =>
      read(transformSchema, item, at, issues),
    ),
    state: placed('state', stateSchema),
    dlq: placed('dlq', dlqSchema),
    quality: block('quality', qualityBlock.schema),
    contract: block('contract', contractBlock.schema),
    masking: block('masking', maskingBlock.schema),
    schema: block('schema', schemaDriftBlock.schema),
    ...readGraph(pipeline, path, issues),
  };
}

/** An empty map of nodes is none. */
function readGraph(
  pipeline: JsonObject,
  above: string,
  issues: Issue[],
): Pick<PipelineBlocks, 'nodes' | 'edges'> {
  const path = joinPath(above, 'nodes');
  const nodes = readNamed(pipeline['nodes'], path, issues, (value, at) =>
    readNode(value, at, issues),
  );
  const edges = readList(pipeline['edges'], joinPath(above, 'edges'), issues, (value, at) =>
    salvage(edgeSchema, restored(value), at, issues),
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
function readNode(value: JsonValue, path: string, issues: Issue[]): NodeSpec | undefined {
  const kind = isObject(value) ? value['kind'] : undefined;
  if (!isObject(value) || kind === 'transform') return salvage(nodeSchema, value, path, issues);
  if (kind === 'source')
    return salvage(
      nodeSchema,
      withoutUnavailable('source node', value, path, issues),
      path,
      issues,
    );
  return salvage(
    nodeSchema,
    kind === 'sink' ? withoutSourceKeys(value, path, issues) : restored(value),
    path,
    issues,
  );
}

type ReadOne<T> = (value: JsonValue, path: string) => T | undefined;

function readTemplates<T>(
  pipeline: JsonObject,
  role: 'source' | 'sink',
  read: ReadOne<T>,
  issues: Issue[],
): Templates<T> {
  const path = `pipeline.${role}s`;
  const templates = new Map(readNamed(pipeline[`${role}s`], path, issues, read));
  const single = pipeline[role];
  if (single === undefined || single === null) return templates;
  if (templates.has('default')) {
    const message = `\`pipeline.${role}\` and \`${path}.default\` are the same template, declared twice`;
    issues.push({
      code: 'duplicate_template',
      path: `pipeline.${role}`,
      message,
      hint: 'keep one of them',
    });
  }
  const at = `pipeline.${role}`;
  const value = read(single, at);
  templates.set('default', value === undefined ? undefined : { path: at, value });
  return templates;
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

function readSink(value: JsonValue, path: string, issues: Issue[]): SinkSpec | undefined {
  return salvage(sinkSchema, withoutSourceKeys(value, path, issues), path, issues);
}

/** Keys that work only on a source get a sentence of their own. */
function withoutSourceKeys(value: JsonValue, path: string, issues: Issue[]): JsonValue {
  if (!isObject(value)) return value;
  const { transforms, inherit_transforms: inherit, complete_for: complete, ...rest } = value;
  for (const [key, found] of Object.entries({
    transforms,
    inherit_transforms: inherit,
    complete_for: complete,
  })) {
    if (found === undefined) continue;
    issues.push({
      code: 'not_on_sink',
      path: joinPath(path, key),
      message: `the sink at \`${path}\` cannot have \`${key}\``,
      hint:
        key === 'complete_for'
          ? 'it belongs to the source'
          : 'transforms belong to the pipeline, a source template or a row',
    });
  }
  return rest;
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

function readMatrix(value: JsonValue | undefined, issues: Issue[]): PlacedRow[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    issues.push({ code: 'wrong_type', path: 'matrix', message: 'expected a list of rows' });
    return undefined;
  }
  if (value.length === 0) return undefined;
  return value.map((item, index) => readRow(item, index, issues));
}

const LIST_KEYS = ['fan_out', 'discover'] as const;

function readRow(item: JsonValue, index: number, issues: Issue[]): PlacedRow {
  const path = `matrix[${index}]`;
  let given = item;
  if (isObject(given)) {
    given = withoutUnavailable('row', given, path, issues);
    refuseLoneParentKey(given, path, issues);
    const { sink } = given;
    if (isObject(sink))
      given = { ...given, sink: withoutSourceKeys(sink, joinPath(path, 'sink'), issues) };
  }
  const spec: RowSpec = salvage(rowSchema, given, path, issues) ?? {};
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
  const message = '`parent_key` says nothing without `parent`';
  issues.push({
    code: 'missing_key',
    path: joinPath(path, 'parent_key'),
    message,
    hint: 'give the row a `parent`, or remove the key',
  });
}

function readMapping<T>(
  value: JsonValue | undefined,
  path: 'execution' | 'selection' | 'resilience',
  schema: ZodType<T>,
  issues: Issue[],
): T | undefined {
  if (value === undefined || value === null) return undefined;
  return salvage(schema, restored(value), path, issues);
}

function placedAt<T>(path: string, value: T | undefined): Placed<T> | undefined {
  return value === undefined ? undefined : { path, value };
}

function readBlock<T>(
  root: JsonObject,
  key: string,
  schema: ZodType<T>,
  issues: Issue[],
): T | undefined {
  const value = root[key];
  return value === undefined || value === null
    ? undefined
    : salvage(schema, restored(value), key, issues);
}

function refuseUnknownKeys(
  mapping: JsonObject,
  known: Readonly<Record<string, ZodType>>,
  path: string,
  issues: Issue[],
): void {
  for (const key of Object.keys(mapping)) {
    if (isFull(issues)) return;
    if (Object.hasOwn(known, key)) continue;
    const issue = {
      code: 'unknown_key',
      path: joinPath(path, key),
      message: `unknown key \`${key}\``,
    };
    const hint = placeHint(key, path) ?? suggestion(key, Object.keys(known), 'known keys');
    issues.push(hint === undefined ? issue : { ...issue, hint });
  }
}

/**
 * Where a block belongs that stands at the top instead of inside `pipeline`, or the other way
 * round.
 */
function placeHint(key: string, path: string): string | undefined {
  if (path === '' && Object.hasOwn(pipelineSchema._zod.innerType.shape, key))
    return 'it belongs inside `pipeline`';
  if (path === 'pipeline' && Object.hasOwn(documentSchema._zod.innerType.shape, key))
    return 'it belongs at the top of the document, beside `pipeline`';
  return undefined;
}

function restored(value: JsonValue | undefined): JsonValue | undefined {
  return value === undefined ? undefined : restoreEscapes(value);
}

/**
 * Compares the destination of one row with its source, and puts right what differs where that is
 * asked for.
 */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import {
  deleteMarker,
  hasMarker,
  type DeleteMarker,
  type WriteFields,
} from '../../kit/write-spec.ts';
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import { isObject, stringifyJson } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';
import type { VerifyReport } from '../../wire/verify.ts';
import { openTransforms, PAGE_BYTES, partContext } from '../row/parts.ts';
import { PageInWork } from '../stages/stage.ts';
import { schemaAfterStages } from '../stages/page-work.ts';
import { stagesOf } from '../stages/stages.ts';
import { compare } from './compare.ts';
import type { Compared } from './comparison.ts';
import { heldBackOf } from './held-back.ts';
import { countVerification } from './metrics.ts';
import { recordForms } from './normal-form.ts';
import { fingerprint } from './record-digest.ts';
import { RowBudget } from './row-budget.ts';
import {
  impossible,
  verifySettingsOf,
  type VerifySettings,
  type VerifyRowOptions,
} from './settings.ts';
import { Side } from './side.ts';

/** The row that is meant when none is named: the first that runs by itself. */
export function rowToVerify(plan: Plan, id: string | undefined): PlannedRow {
  const rows = [...plan.rows, ...plan.unselected];
  const row =
    id === undefined
      ? (plan.rows.find(({ role }) => role === 'root') ?? plan.rows[0])
      : rows.find((one) => one.id === id);
  if (row !== undefined) return row;
  const known = rows.map((one) => `\`${one.id}\``).join(', ');
  throw new RefusedError(
    'bad_config',
    id === undefined ? 'the document has no row to verify' : `there is no row \`${id}\``,
    {
      hint: known === '' ? 'give the document a row' : `there are: ${known}`,
    },
  );
}

/**
 * Throws `RefusedError` (`bad_config`) when the row cannot be compared, and `RunError` when a run is in
 * the way of its repair; differences are a result.
 */
export async function verifyRow(options: VerifyRowOptions): Promise<VerifyReport> {
  const { env, row, plan, task } = options;
  const settings = verifySettingsOf(options);
  const from = env.clock.elapsedMs();
  await using closers = new AsyncDisposableStack();
  const fence = task.repair
    ? await (await import('./repair.ts')).prepareRepair(settings, closers)
    : undefined;
  const { compared, sides, heldBack } = await compareSides(settings);
  const repaired = task.repair
    ? await (
        await import('./repair.ts')
      ).repair(settings, compared.found, {
        source: sides.source.schema,
        destination: sides.destination.schema,
        fence,
      })
    : {};
  countVerification(
    env.metrics,
    { pipeline: plan.name, row: row.id },
    compared,
    (env.clock.elapsedMs() - from) / 1000,
  );
  const { found, strategy, truncated, ranges_compared, ranges_differing, server_digests } =
    compared;
  return {
    row: row.id,
    source: row.source.type,
    destination: row.sink.type,
    key: [...settings.key],
    strategy,
    dry_run: task.dryRun,
    ranges_compared,
    ranges_differing,
    server_digests,
    rows_fetched_source: sides.source.fetched,
    rows_fetched_dest: sides.destination.fetched,
    differences: found.map(({ difference }) => difference),
    truncated,
    ...(heldBack === 0 ? {} : { held_back: heldBack }),
    ...repaired,
  };
}

interface Sides {
  readonly source: Side;
  readonly destination: Side;
}

async function compareSides(settings: VerifySettings): Promise<{
  readonly compared: Compared;
  readonly sides: Sides;
  /** Records that wait in the dead-letter queue. */
  readonly heldBack: number;
}> {
  const { verification, key, task, env } = settings;
  const { spec } = verification;
  await using closers = new AsyncDisposableStack();
  const budget = new RowBudget(spec.max_rows_scanned);
  // Records for which a transform says `on_error: dlq`.
  const putAside = new Set<string>();
  const sides = {
    source: await sourceSide(settings, { budget, putAside }, closers),
    destination: destinationSide(settings, budget),
  };
  const marker = markerOf(settings.sinkConfig);
  const counts = countedBy(settings, marker?.field);
  const holding = await holdingOf(sides);
  const isStored = await storedAlike(sides);
  const forms = recordForms({ key, counts, holding, normalize: spec.normalize, isStored });
  const { row, plan, parts, tokens } = settings;
  const context = contextOf(settings);
  const heldBack = await heldBackOf({ row, pipeline: plan.name, parts, tokens, context, forms });
  const compared = await compare({
    ...sides,
    key,
    counts,
    forms,
    heldBack,
    spec,
    maxDifferences: task.maxDifferences ?? spec.max_differences,
    budget,
    isDeletion: marker === undefined ? undefined : (record) => hasMarker(record, marker),
    log: env.log.at('headgate::verify'),
  });
  return { compared, sides, heldBack: heldBack.count + putAside.size };
}

/** The records as the sink would be given them: what the transforms make of them, masked. */
async function sourceSide(
  settings: VerifySettings,
  { budget, putAside }: { readonly budget: RowBudget; readonly putAside: Set<string> },
  closers: AsyncDisposableStack,
): Promise<Side> {
  const { row, plan, env, tokens, kill } = settings;
  const transforms = await openTransforms(row.transforms, { env, tokens }, closers);
  const masking = blockOf(row, maskingBlock);
  const masks = masking !== undefined && maskingRulesFor(masking, row.sink).length > 0;
  const [stage] = masks
    ? stagesOf(
        {
          env,
          pipeline: plan.name,
          row: row.id,
          sinkPreset: row.sink.preset,
          sinkType: row.sink.type,
        },
        { masking, quality: undefined, contract: undefined, schema: undefined },
      )
    : [];
  const changed = schemaAfterStages({ transforms, stages: stage === undefined ? [] : [stage] });
  const transform = async (page: Page): Promise<Page> => {
    const result = await transforms.run(page, kill);
    // A range may be read again.
    for (const { record } of result.diverted) putAside.add(fingerprint(stringifyJson(record)));
    return result.page;
  };
  const prepare = async (page: Page): Promise<Page> => {
    const transformed = transforms.empty ? page : await transform(page);
    const schema = changed(page.schema);
    if (stage === undefined) return transformed.withSchema(schema);
    const work = new PageInWork(transformed, []);
    await stage.run(work);
    return work.page.withSchema(schema);
  };
  return new Side({
    role: 'source',
    definition: row.source.definition,
    config: resolvePart(row.source, tokens),
    context: contextOf(settings),
    budget,
    ...(transforms.empty && stage === undefined ? {} : { prepare }),
    sliceable: settings.key.every((name) =>
      row.transforms.every((part) => keeps(part, name, settings)),
    ),
    mayBeAbsent: false,
  });
}

/** Whether a transform keeps the field under its name and handles each record by itself. */
function keeps(
  part: PlannedRow['transforms'][number],
  field: string,
  { tokens }: VerifySettings,
): boolean {
  const flow = part.definition.columns(resolvePart(part, tokens));
  switch (flow.kind) {
    case 'identity':
      return true;
    case 'opaque':
      return false;
    case 'rename':
      return !Object.hasOwn(flow.fields, field) && !Object.values(flow.fields).includes(field);
    case 'select':
      return flow.fields.includes(field);
    case 'drop':
    case 'add':
      return !flow.fields.includes(field);
    case 'derive':
      return !Object.hasOwn(flow.fields, field);
    default:
      return flow satisfies never;
  }
}

function destinationSide(settings: VerifySettings, budget: RowBudget): Side {
  const { row, tokens, verification, sinkConfig, parts } = settings;
  const common = {
    role: 'destination' as const,
    context: contextOf(settings),
    budget,
    sliceable: true,
  };
  const { destination: part } = verification;
  if (part !== undefined) {
    return new Side({
      ...common,
      definition: part.definition,
      config: resolvePart(part, tokens),
      mayBeAbsent: false,
    });
  }
  const readBack = row.sink.definition.readBack?.(sinkConfig);
  if (readBack === undefined) {
    throw impossible(
      `what row \`${row.id}\` wrote cannot be read back from \`${row.sink.type}\``,
      'set `verify.destination` to a source that reads it',
    );
  }
  const definition: SourceDefinition | undefined = parts.sources.get(readBack.type);
  if (definition === undefined)
    throw impossible(
      `this build has no source \`${readBack.type}\` to read the destination with`,
      'set `verify.destination`',
    );
  const checked = check(definition.config, readBack.config);
  if (!checked.ok) throw new ConfigError(checked.issues);
  // A destination that does not exist yet counts as empty.
  return new Side({
    ...common,
    definition,
    config: checked.value,
    recordIn: readBack.recordIn,
    mayBeAbsent: true,
  });
}

function contextOf(settings: VerifySettings): SourceContext {
  const { row, stop, tokens } = settings;
  const policy = blockOf(row, resilienceBlock)?.retry;
  const retry = policy === undefined ? {} : { retry: policy };
  return {
    ...partContext(settings),
    signal: stop,
    pageBytes: PAGE_BYTES,
    records: tokens.records,
    ...retry,
  };
}

async function holdingOf({ source, destination }: Sides) {
  const shapes = await Promise.all([source.shape(), destination.shape()]);
  const known = shapes.map(({ columns, others }) => ({
    others,
    byName: new Map(columns.map(({ name, holds }) => [name, holds])),
  }));
  return (name: string) =>
    new Set(
      known
        .map(({ others, byName }) => (byName.has(name) ? byName.get(name) : others))
        .filter((holds) => holds !== undefined),
    );
}

/** `undefined` where a side changes its records, or its values have no types of their own. */
async function storedAlike({ source, destination }: Sides) {
  if (!source.untouched || !destination.untouched) return undefined;
  const affinities = async (side: Side) =>
    new Map((await side.shape()).columns.map(({ name, affinity }) => [name, affinity]));
  const [here, there] = await Promise.all([affinities(source), affinities(destination)]);
  return (name: string): boolean => {
    const affinity = here.get(name);
    return affinity !== undefined && affinity === there.get(name);
  };
}

/** Fields that are named count in any case; what is only put on for the write does not. */
function countedBy(
  { row, verification: { spec } }: VerifySettings,
  markerField: string | undefined,
): (name: string) => boolean {
  const named = spec.columns === undefined ? undefined : new Set(spec.columns);
  if (named !== undefined) return (name) => named.has(name);
  const stamped = new Set((row.metadataColumns ?? []).map(({ name }) => name));
  const starts = spec.exclude
    .filter((pattern) => pattern.endsWith('*'))
    .map((pattern) => pattern.slice(0, -1));
  const excluded = new Set(spec.exclude);
  return (name) =>
    !stamped.has(name) &&
    name !== markerField &&
    !excluded.has(name) &&
    !starts.some((start) => name.startsWith(start));
}

/** The field that marks a record of the source as a deletion, as every keyed sink knows it. */
function markerOf(config: unknown): DeleteMarker | undefined {
  const marker = isObject(config)
    ? (config as { delete_marker?: WriteFields['delete_marker'] }).delete_marker
    : undefined;
  return marker && deleteMarker(marker);
}

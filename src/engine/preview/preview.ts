/**
 * What the first records of a row look like after transforms and masking. Opens no sink and no
 * state store.
 */
import { onlyBlocks } from '../../blocks/define-block.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { governanceOf } from '../stages/governance.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { createCredentials } from '../../credentials/index.ts';
import type { PartContext } from '../../kit/context.ts';
import type { Source } from '../../kit/source.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import type { ExecuteOptions } from '../engine.ts';
import { firstIteration } from '../expand/iteration.ts';
import { withoutOverflow, wrapConnectorError } from '../failure.ts';
import { withPlace } from '../row/document-place.ts';
import { compileTransforms, resolvedTransforms } from '../stages/compile-transforms.ts';
import { PageInWork } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';

export interface PreviewOptions extends Pick<
  ExecuteOptions,
  'plan' | 'parts' | 'env' | 'clock' | 'signal'
> {
  readonly row: PlannedRow;
  readonly limit: number;
  /** Told what the source knows of its fields, before its first record. */
  readonly onSchema?: (schema: RecordSchema | undefined) => void;
}

/** What the source of a row knows of its fields when it is read. */
export async function firstSchema(
  options: Omit<PreviewOptions, 'limit' | 'onSchema'>,
): Promise<RecordSchema | undefined> {
  // The records as the source gives them: nothing of the row stands between.
  const row = {
    ...options.row,
    transforms: [],
    blocks: onlyBlocks(options.row, [resilienceBlock]),
  };
  let schema: RecordSchema | undefined;
  const first = preview({ ...options, row, limit: 1, onSchema: (known) => (schema = known) });
  await first.next();
  await first.return(undefined);
  return schema;
}

export async function* preview(options: PreviewOptions): AsyncGenerator<JsonValue> {
  const { plan, row, env, limit } = options;
  const leave = new AbortController();
  const signal = AbortSignal.any([options.signal, leave.signal]);
  const tokens: RuntimeTokens = {
    now: { date: options.clock, zone: 'UTC' },
    records: firstIteration(row).records,
  };
  const credentials = createCredentials(options.parts.credentials, plan.auth, { env, signal });
  const context: PartContext = {
    env,
    pipeline: plan.name,
    row: row.id,
    invocationId: env.ids.next(),
    signal,
    credentials,
  };
  const chain = await compileTransforms(resolvedTransforms(row.transforms, tokens), env);
  const [masking] = stagesOf(
    {
      env,
      pipeline: plan.name,
      row: row.id,
      sinkPreset: row.sink.preset,
      sinkType: row.sink.type,
    },
    { ...governanceOf(row), quality: undefined, contract: undefined, schema: undefined },
  );
  let source: Source | undefined;
  let left = limit;
  try {
    source = await row.source.definition.open(resolvePart(row.source, tokens), {
      ...context,
      pageBytes: 1024 * 1024,
    });
    for await (const page of source.pages({ lane: RECORDS_LANE, limit, rejects: true })) {
      options.onSchema?.(page.schema);
      for (const { message } of page.rejected)
        env.log.warn('a record that cannot be read is left out', { row: row.id, error: message });
      const work = new PageInWork((await chain.run(page, signal)).page, []);
      await masking?.run(work);
      for (const record of work.page.slice(0, left).records()) {
        left -= 1;
        yield record;
      }
      if (left <= 0) break;
    }
  } catch (error) {
    throw withPlace(
      wrapConnectorError('Source', row.source.type, withoutOverflow(error)),
      row,
      plan,
    );
  } finally {
    leave.abort();
    await source?.close();
    await chain.close();
  }
}

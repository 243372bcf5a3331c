/** The nodes between sources and sinks: transform, tee, merge and join. */
import { describeOrigin } from '../row/dead-records.ts';
import { originAt, recordsAsRead } from '../stages/origins.ts';
import { deadRecordOf } from '../stages/page-work.ts';
import { pageSchemaChange } from '../stages/page-schema.ts';
import type { ChainResult } from '../stages/transform-chain.ts';
import type { JoinSpec } from '../../document/structure/topology.ts';
import { Page, type MadeOf } from '../../kit/page.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedEdge, PlannedTransform } from '../../plan/plan.ts';
import * as metrics from '../metrics.ts';
import { openTransforms } from '../row/parts.ts';
import { copyJson } from './copy-json.ts';
import { handOn, isEmpty, type NodeWork } from './graph-run.ts';
import { Join } from './join.ts';
import { CommonSchema, joinedSchema } from './joined-schema.ts';
import * as nodeMetrics from './node-metrics.ts';
import { hideForNode } from './node-queue.ts';

/** A build side may hold this much in memory. */
const JOIN_MEMORY_BYTES = 64 * 1024 * 1024;

export interface InnerWork extends NodeWork {
  /** The edges of `inputs`, in the same order. */
  readonly edges: readonly PlannedEdge[];
}

export async function runTransform(
  transforms: readonly PlannedTransform[],
  work: InnerWork,
): Promise<void> {
  const { run, account, labels } = work;
  const { env, concurrency } = run.options;
  const options = { env, tokens: run.tokens, concurrency };
  const chain = await openTransforms(transforms, options, run.closers);
  const isOwned = work.edges.every((edge) => edge.owned);
  const hide = hideForNode(account.node.id, run);
  for await (const page of pagesOf(work, 0)) {
    const from = env.clock.elapsedMs();
    let out = page;
    if (!chain.empty) {
      // Transforms change the records they are given; what a tee gave to others too is copied
      // first.
      const own = isOwned
        ? page
        : page.withRecords(page.records().map((record) => copyJson(record)));
      const asRead = work.queue === undefined ? undefined : recordsAsRead(own);
      const result = await chain
        .run(own, run.kill, asRead !== undefined)
        .catch((error: unknown) => {
          env.metrics.inc(metrics.transformErrors, labels);
          throw error;
        });
      await putAside(result, page, work);
      account.filtered += result.filtered;
      account.expanded += result.expanded;
      out =
        asRead === undefined
          ? result.page
          : result.page.withMadeOf(madeBy(result, page, { asRead, hide }));
      env.metrics.inc(metrics.transformIn, labels, page.count);
      env.metrics.inc(metrics.transformOut, labels, out.count);
      env.metrics.observe(metrics.transformDuration, labels, (env.clock.elapsedMs() - from) / 1000);
    }
    if (!(await passOn(out, work))) return;
  }
}

interface MadeByOptions {
  readonly asRead: (place: number) => JsonValue | undefined;
  readonly hide: ((record: JsonValue) => JsonValue) | undefined;
}

/** What the records behind transforms were made of, with values hidden that masking hides later. */
function madeBy({ origins }: ChainResult, page: Page, { asRead, hide }: MadeByOptions): MadeOf {
  return (place) => {
    const at = originAt(origins, place);
    const earlier = at === undefined ? undefined : page.madeOf?.(at);
    if (at === undefined || earlier === undefined || earlier.record !== undefined) return earlier;
    const record = asRead(at);
    return {
      ...earlier,
      record: record === undefined || hide === undefined ? record : hide(record),
    };
  };
}

async function putAside(
  { diverted }: ChainResult,
  { madeOf }: Page,
  { queue }: NodeWork,
): Promise<void> {
  const [first] = diverted;
  if (first === undefined) return;
  // The plan asks for a queue wherever a transform puts records aside.
  if (queue === undefined) throw first.error;
  await queue.put(
    diverted.map((one) => {
      const origin = one.isBehindPages === true ? undefined : madeOf?.(one.index);
      return { ...deadRecordOf(one), ...describeOrigin(origin) };
    }),
  );
}

/** The slowest branch sets the pace; a branch that has ended blocks none. */
export async function runTee(work: InnerWork): Promise<void> {
  const { account, outputs, run } = work;
  for await (const page of pagesOf(work, 0)) {
    account.expanded += page.count * (outputs.length - 1);
    run.options.env.metrics.inc(
      nodeMetrics.teeRecords,
      nodeLabels(work),
      page.count * outputs.length,
    );
    if (!(await handOn(work, page))) return;
  }
}

/**
 * Pages as they arrive. All inputs lead back to one source when there are bookmarks at all, and
 * each brings every bookmark once and in order: one is handed on only with the page of the input
 * that brings it last, when nothing before it is still under way.
 */
export async function runMerge(work: InnerWork): Promise<void> {
  const brought = work.inputs.map(() => 0);
  let isWanted = true;
  const drain = async (index: number): Promise<void> => {
    for await (const page of pagesOf(work, index)) {
      const isLast = page.bookmark === undefined || brings(brought, index);
      const out = isLast
        ? page
        : Page.ofRecords(page.records(), {
            bytes: page.bytes,
            schema: page.schema,
            madeOf: page.madeOf,
          });
      work.run.options.env.metrics.inc(nodeMetrics.mergeRecords, nodeLabels(work), page.count);
      isWanted = await inTurn(() => passOn(out, work));
      if (!isWanted) break;
    }
    if (!isWanted) for (const input of work.inputs) input.leave();
  };
  const inTurn = oneAtATime();
  const drains = work.inputs.map((_, index) =>
    drain(index).catch((error: unknown) => {
      // The other inputs end too: the output is no longer complete.
      for (const input of work.inputs) input.leave();
      throw error;
    }),
  );
  const ended = await Promise.allSettled(drains);
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/**
 * Notes that an input has brought its next bookmark; true when all others have brought that one
 * before.
 */
function brings(brought: number[], index: number): boolean {
  const count = (brought[index] ?? 0) + 1;
  brought[index] = count;
  return brought.every((other) => other >= count);
}

/** Runs one piece of work after the other: an output has one producer. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let before: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = before.then(work);
    before = mine.catch(() => {});
    return mine;
  };
}

export async function runJoin(spec: JoinSpec, work: InnerWork): Promise<void> {
  const { run, account, edges } = work;
  const { env } = run.options;
  const [build, probe] = [
    edges.findIndex((edge) => edge.label === spec.build.edge),
    edges.findIndex((edge) => edge.label === spec.probe.edge),
  ];
  const join = new Join({
    spec,
    ownsProbe: edges[probe]?.owned === true,
    memoryBytes: JOIN_MEMORY_BYTES,
  });
  const from = env.clock.elapsedMs();
  const built = new CommonSchema();
  try {
    for await (const page of pagesOf(work, build)) {
      account.filtered += page.count;
      built.see(page.schema);
      join.build(page.records());
    }
    env.metrics.observe(
      nodeMetrics.joinBuildDuration,
      nodeLabels(work),
      (env.clock.elapsedMs() - from) / 1000,
    );
    env.log.at('headgate::engine').info('build side read', {
      node: account.node.id,
      records: join.buildRecords,
      on_disk: join.onDisk,
    });
    const schemaOf = pageSchemaChange([(input) => joinedSchema(spec, built.schema, input)]);
    for await (const page of pagesOf(work, probe)) {
      const [missed, extra] = [join.missed, join.extra];
      const records: JsonValue[] = join.probe(page.records());
      if (spec.mode === 'inner') account.filtered += join.missed - missed;
      account.expanded += join.extra - extra;
      const joined = page.withSchema(schemaOf(page.schema)).withRecords(records);
      // A record is made of one of each side.
      const out = joined.withMadeOf(() => undefined);
      if (!(await passOn(out, work))) return;
    }
  } finally {
    join.close();
    countJoin(join, spec, work);
  }
}

function countJoin(join: Join, { mode }: JoinSpec, work: NodeWork): void {
  const { metrics: sink } = work.run.options.env;
  const labels = nodeLabels(work);
  sink.inc(nodeMetrics.joinBuildRecords, labels, join.buildRecords);
  sink.inc(nodeMetrics.joinProbeRecords, labels, join.probeRecords);
  sink.inc(nodeMetrics.joinDuplicates, labels, join.duplicates);
  sink.inc(nodeMetrics.joinBuildNulls, labels, join.buildNulls);
  sink.inc(nodeMetrics.joinProjectMisses, labels, join.projectMisses);
  sink.inc(nodeMetrics.joinMatches, { ...labels, kind: mode }, join.matched);
  sink.inc(nodeMetrics.joinMisses, { ...labels, kind: mode }, join.missed);
}

async function* pagesOf({ inputs, account }: NodeWork, index: number): AsyncGenerator<Page> {
  const input = inputs[index];
  for (let page = await input?.next(); page !== undefined; page = await input?.next()) {
    account.in += page.count;
    yield page;
  }
}

async function passOn(page: Page, work: NodeWork): Promise<boolean> {
  return isEmpty(page) || handOn(work, page);
}

function nodeLabels({ labels }: NodeWork): { pipeline: string; node: string } {
  return { pipeline: labels.pipeline, node: labels.row };
}

/**
 * Entry of a process that runs documents and kills itself at a failpoint. It has every part of the
 * build, the broken sinks of the suite, and a source whose records are known.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { z } from 'zod';
import { replicationOf } from '../../../src/blocks/replication/index.ts';
import { SINKS, SOURCES } from '../../../src/connectors/index.ts';
import { documentOfTree } from '../../../src/document/load.ts';
import { execute } from '../../../src/engine/execute.ts';
import type { FailpointHook } from '../../../src/engine/failpoints.ts';
import { replicateDocument } from '../../../src/features/replication/replicate-document.ts';
import { Page } from '../../../src/kit/page.ts';
import { createParts } from '../../../src/kit/parts.ts';
import { defineSource } from '../../../src/kit/source.ts';
import { messageOf, StopReason } from '../../../src/lib/errors.ts';
import { parseJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { planDocument } from '../../../src/plan/plan-document.ts';
import type { RunOutcome } from '../../../src/wire/outcome.ts';
import { STATE_STORES } from '../../../src/state/index.ts';
import { TRANSFORMS } from '../../../src/transforms/index.ts';
import { testEnv } from '../../fakes/env.ts';
import { BROKEN_SINKS } from '../broken/sinks.ts';
import { PAGES, type CrashTicket, type Hold, type RunReport } from './crash.ts';

/** Goes on after any of its pages. */
const replayable = defineSource({
  type: 'replayable',
  description: 'pages that are known',
  config: z.strictObject({}),
  examples: [{}],
  capabilities: () => ({ replay: 'positional', bookmarks: true, encodings: [] }),
  datasetUri: () => 'replayable://pages',
  open: () =>
    Promise.resolve({
      // oxlint-disable-next-line typescript/require-await -- the contract of a source is
      // asynchronous
      async *pages({ bookmark }) {
        const from = typeof bookmark === 'number' ? bookmark : 0;
        for (const [index, records] of PAGES.entries())
          if (index >= from)
            yield Page.ofRecords(structuredClone(records), { bookmark: index + 1 });
      },
      close: () => Promise.resolve(),
    }),
});

const parts = createParts({
  sources: [replayable, ...SOURCES],
  sinks: [...SINKS, ...BROKEN_SINKS.map(({ definition }) => definition)],
  transforms: TRANSFORMS,
  states: STATE_STORES,
  credentials: [],
  secrets: [],
});

function wait({ held, free }: Hold): void {
  writeFileSync(held, '');
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(free)) Atomics.wait(never, 0, 0, 5);
}

let stop = new AbortController();

async function run({ tree, crashAt, hold }: CrashTicket): Promise<RunReport> {
  stop = new AbortController();
  const failpoints: string[] = [];
  const onFailpoint: FailpointHook = (failpoint, { page }) => {
    if (failpoints.length === crashAt) process.kill(process.pid, 'SIGKILL');
    failpoints.push(`${failpoint} of page ${page}`);
    if (hold !== undefined && failpoint === hold.failpoint && !existsSync(hold.held)) wait(hold);
  };
  const document = documentOfTree(parseJson(tree) as JsonObject);
  const plan = planDocument(document, parts, { cpus: 1 });
  const shared = {
    plan,
    parts,
    env: testEnv(),
    signal: stop.signal,
    onFailpoint,
  };
  if (replicationOf(plan) !== undefined) {
    const options = { ...shared, document, cpus: 1, once: false, restart: false };
    const { snapshot, stream } = await replicateDocument(options);
    return { failpoints, error: errorOf(snapshot) ?? errorOf(stream) };
  }
  const outcome = await execute({ ...shared, runId: 'crash', clock: new Date() });
  return { failpoints, error: errorOf(outcome) };
}

function errorOf(outcome: RunOutcome | undefined): string | null {
  return outcome?.invocations[0]?.error?.message ?? outcome?.error?.message ?? null;
}

// A process that is killed keeps nothing of what it compiled, unless it does so before.
flushCompileCache();
process.on('message', (ticket: CrashTicket | 'cancel') => {
  if (ticket === 'cancel') {
    stop.abort(new StopReason('cancel', 'the run was cancelled'));
    return;
  }
  run(ticket).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ failpoints: [], error: messageOf(error) }),
  );
});
process.on('disconnect', () => process.exit());

/**
 * Entry of a process that runs documents and kills itself at a failpoint. It has every part of the
 * build, the broken sinks of the suite, and a source whose records are known.
 */
import { flushCompileCache } from 'node:module';
import { z } from 'zod';
import { SINKS, SOURCES } from '../../../src/connectors/index.ts';
import { documentOfTree } from '../../../src/document/load.ts';
import { execute } from '../../../src/engine/execute.ts';
import type { FailpointHook } from '../../../src/engine/failpoints.ts';
import { Page } from '../../../src/kit/page.ts';
import { createParts } from '../../../src/kit/parts.ts';
import { defineSource } from '../../../src/kit/source.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { parseJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { planDocument } from '../../../src/plan/plan-document.ts';
import { STATE_STORES } from '../../../src/state/index.ts';
import { testEnv } from '../../fakes/env.ts';
import { BROKEN_SINKS } from '../broken/sinks.ts';
import { PAGES, type CrashTicket, type RunReport } from './crash.ts';

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
  transforms: [],
  states: STATE_STORES,
  credentials: [],
  secrets: [],
});

async function run({ tree, crashAt }: CrashTicket): Promise<RunReport> {
  const failpoints: string[] = [];
  const onFailpoint: FailpointHook = (failpoint, { page }) => {
    if (failpoints.length === crashAt) process.kill(process.pid, 'SIGKILL');
    failpoints.push(`${failpoint} of page ${page}`);
  };
  const plan = planDocument(documentOfTree(parseJson(tree) as JsonObject), parts, { cpus: 1 });
  const outcome = await execute({
    plan,
    parts,
    env: testEnv(),
    runId: 'crash',
    clock: new Date(),
    signal: new AbortController().signal,
    onFailpoint,
  });
  const error = outcome.invocations[0]?.error?.message ?? outcome.error?.message ?? null;
  return { failpoints, error };
}

// A process that is killed keeps nothing of what it compiled, unless it does so before.
flushCompileCache();
process.on('message', (ticket: CrashTicket) => {
  run(ticket).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ failpoints: [], error: messageOf(error) }),
  );
});
process.on('disconnect', () => process.exit());

/** Entry of the process that `writeAndKill` starts. */
import { SINKS } from '../../../src/connectors/index.ts';
import { Page } from '../../../src/kit/page.ts';
import { check } from '../../../src/kit/schema.ts';
import type { Sink } from '../../../src/kit/sink.ts';
import { sinkContext } from '../../fakes/env.ts';
import { BROKEN_SINKS } from '../broken/sinks.ts';
import { decodeTask, type WriterStep } from './killed-writer.ts';

const { type, config, steps } = decodeTask(process.argv[2] ?? '');
const definition = [...SINKS, ...BROKEN_SINKS.map((one) => one.definition)].find(
  (one) => one.type === type,
);
if (definition === undefined) throw new Error(`there is no sink ${type}`);
const checked = check(definition.config, config);
if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
const sink = await definition.open(checked.value, sinkContext());
for (const step of steps) await take(sink, step);
// Hangs: only the signal ends it, and nothing is closed.
setInterval(() => {}, 60_000);
process.send?.('done');

async function take(to: Sink, step: WriterStep): Promise<void> {
  switch (step.do) {
    case 'write':
      return void (await to.write(Page.ofRecords(step.records), { partial: false }));
    case 'hold':
      return to.tokens?.hold(Page.ofRecords(step.records));
    case 'flush':
      return to.flush();
    case 'token':
      return void (await to.tokens?.write(Page.ofRecords(step.records), step.scope, step.token));
    default:
      step satisfies never;
  }
}

import { expect, it } from 'vitest';
import type { JsonValue } from '../../lib/text/json.ts';
import { StopReason } from '../../lib/errors.ts';
import type { Sink, SinkDefinition } from '../../kit/sink.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { eventClock } from '../../../test/fakes/event-clock.ts';
import {
  fakeSink,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { execute } from '../execute.ts';

const pages = [{ records: [{ id: 1 }], bookmark: 1 }];

/** A sink whose server never answers a flush. */
function silentSink(onFlush: () => void): SinkDefinition {
  const { definition } = fakeSink();
  const open: SinkDefinition['open'] = async (config, context) => {
    const sound: Sink = await definition.open(config, context);
    const flush = (): Promise<never> => {
      onFlush();
      return untilAborted(new Promise<never>(() => {}), context.signal);
    };
    return { ...sound, flush };
  };
  return { ...definition, open };
}

function run(why: 'cancel' | 'timeout') {
  const [stop, clock, values] = [new AbortController(), eventClock(), new Map<string, JsonValue>()];
  const sink = silentSink(() => stop.abort(new StopReason(why, 'asked')));
  const row = plannedRow(fakeSource(pages), sink, { state: part(fakeState(values)) });
  let outcome: unknown;
  const running = execute({
    plan: planOf([row]),
    parts: noParts,
    env: { ...testEnv(), clock },
    runId: 'run-1',
    clock: new Date(),
    signal: stop.signal,
  }).then((ended) => (outcome = ended));
  return { running, values, clock, outcome: () => outcome };
}

it.each([
  ['cancel', 1900],
  ['timeout', 9900],
] as const)(
  'a sink that waits for its server in vain does not keep a row that was told to stop (%s)',
  async (why, soonMs) => {
    const { running, values, clock, outcome } = run(why);
    await clock.pass(soonMs);
    expect(outcome()).toBeUndefined();
    await clock.pass(2000);
    expect(await running).toMatchObject({ status: 'cancelled', invocations: [{ error: null }] });
    expect(values.size).toBe(0);
  },
);

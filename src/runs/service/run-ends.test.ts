import { expect, test } from 'vitest';
import { runRecord } from '../../../test/support/server.ts';
import { FakeClock, rest } from '../../../test/support/runs.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { RunRecord } from '../../wire/run.ts';
import { outcomeOfEnd, RunEnds } from './run-ends.ts';

const ENDED = { status: 'failed', error: 'no file', finished_at: 'then', outcome: null } as const;

function world() {
  const [ends, clock, stop] = [new RunEnds(), new FakeClock(), new AbortController()];
  const answers: (RunRecord | Error)[] = [];
  const get = async (): Promise<RunRecord> => {
    const answer = answers.shift() ?? runRecord({ status: 'running' });
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const wait = () => ends.of('run-1', { runs: { get }, clock }, stop.signal);
  return { ends, clock, stop, answers, wait };
}

test('an end that is heard of is passed on at once', async () => {
  const { ends, wait } = world();
  const end = wait();
  await rest();
  ends.follow({ run_id: 'another' })({ kind: 'ended', end: { ...ENDED, started_at: null } });
  ends.follow({ run_id: 'run-1' })({ kind: 'ended', end: { ...ENDED, started_at: null } });
  expect(await end).toMatchObject(ENDED);
});

test('an end that nobody reported is found in the record, also after the history was away', async () => {
  const { clock, answers, wait } = world();
  const away = new RefusedError('unavailable', 'the history store does not answer');
  answers.push(away, runRecord({ status: 'running' }), runRecord({ status: 'cancelled' }));
  const end = wait();
  await clock.advance(60_000);
  expect(await end).toMatchObject({ status: 'cancelled', outcome: null });
});

test('nobody waits for a run that is gone, or once the signal has fired', async () => {
  const { stop, answers, wait } = world();
  const gone = new RefusedError('not_found', 'there is no such run');
  answers.push(gone);
  await expect(wait()).rejects.toBe(gone);
  const end = wait();
  await rest();
  stop.abort(new Error('closed'));
  await expect(end).rejects.toThrow('closed');
});

test('the outcome of a run whose worker reported none says why it failed', () => {
  expect(outcomeOfEnd(ENDED, 'orders')).toMatchObject({
    pipeline: 'orders',
    status: 'failed',
    error: { message: 'no file' },
    records_written: 0,
  });
});

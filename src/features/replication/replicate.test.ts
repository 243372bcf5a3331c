import { describe, expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { openState } from '../../../test/fakes/open-state.ts';
import type { ExecutionFence } from '../../engine/row/execution-fence.ts';
import type { Lease } from '../../kit/state-store.ts';
import { StopReason } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { replicate } from './replicate.ts';

const MARKER = 'test::__replication__';
const BOOKMARK = 'test::row-0';

interface Script {
  readonly values?: Map<string, JsonValue>;
  readonly continuous?: boolean;
  readonly restart?: boolean;
  /** How its runs end, in their order; the others are completed. */
  readonly ends?: readonly RunOutcome['status'][];
  /** Stops everything in the run of this number. */
  readonly stopIn?: number;
  readonly lost?: boolean;
  /** Another process goes on with the replication during the run of this number. */
  readonly takenOverIn?: number;
}

let anchorsTaken = 0;
let refusals: unknown[] = [];

const OTHER: Lease = { token: 'other', holder: { run_id: 'other' }, remainingMs: 60_000 };

async function carryOut({
  values = new Map(),
  continuous = false,
  restart = false,
  ends = [],
  stopIn,
  lost = false,
  takenOverIn,
}: Script) {
  const ran: string[] = [];
  const stop = new AbortController();
  const state = fakeState(values);
  const row = plannedRow(fakeSource([]), fakeSink().definition, { state: part(state) });
  let isTakenOver = false;
  const opened = await openState(state, {});
  const lease: typeof opened.lease = (key, request) =>
    isTakenOver ? Promise.resolve(OTHER) : opened.lease(key, request);
  const execute = async (
    plan: ReturnType<typeof planOf>,
    fence: ExecutionFence,
  ): Promise<RunOutcome> => {
    const key = plan.rows[0]?.stateKey ?? '';
    const isSnapshot = key.includes('__snapshot__');
    await fence.assertOwned();
    isTakenOver = ran.length + 1 === takenOverIn;
    const refusal = await fence.assertOwned().catch((error: unknown) => error);
    if (refusal !== undefined) refusals.push(refusal);
    ran.push(
      `${isSnapshot ? 'snapshot' : 'stream'} from ${JSON.stringify(values.get(key) ?? null)}`,
    );
    values.set(key, isSnapshot ? 'halfway' : `read ${ran.length}`);
    if (ran.length === stopIn) stop.abort(new StopReason('cancel', 'stopped'));
    const status = ran.length === stopIn ? 'cancelled' : (ends[ran.length - 1] ?? 'completed');
    return {
      pipeline: 'test',
      status,
      started_at: '',
      finished_at: '',
      records_written: 2,
      invocations: [],
      error: null,
    };
  };
  const result = await replicate({
    env: testEnv(),
    runId: 'run-1',
    plan: planOf([row]),
    row,
    snapshot: planOf([row]),
    store: { ...opened, lease },
    continuous,
    restart,
    signal: stop.signal,
    anchors: {
      take: () => Promise.resolve(`anchor ${(anchorsTaken += 1)}`),
      check: () => (lost ? Promise.reject(new Error('the changes are gone')) : Promise.resolve()),
      stateAt: (anchor) => Promise.resolve(anchor),
    },
    execute,
  });
  return { ran, values, result };
}

describe('a replication', () => {
  test('reads the rows, then the changes since before that, and remembers both', async () => {
    anchorsTaken = 0;
    const { ran, values, result } = await carryOut({});
    expect(ran).toEqual(['snapshot from null', 'stream from "anchor 1"']);
    expect(result).toMatchObject({ phase: 'stream', status: 'completed', streamRuns: 1 });
    expect([...values.keys()].sort()).toEqual([MARKER, BOOKMARK].sort());
    expect(values.get(MARKER)).toMatchObject({ phase: 'stream', anchor: 'anchor 1' });
  });

  test('reads only changes when the rows are all there', async () => {
    const { values } = await carryOut({});
    const { ran, result } = await carryOut({ values });
    expect(ran).toEqual(['stream from "read 2"']);
    expect(result.snapshot).toBeUndefined();
  });

  test.each(['failed', 'cancelled'] as const)(
    'goes on with a snapshot that has %s, and its changes begin where they began',
    async (end) => {
      anchorsTaken = 0;
      const { ran, values, result } = await carryOut({ ends: [end] });
      expect(ran).toHaveLength(1);
      expect(result).toMatchObject({ phase: 'snapshot', status: end, stream: undefined });
      const again = await carryOut({ values });
      expect(again.ran).toEqual(['snapshot from "halfway"', 'stream from "anchor 1"']);
    },
  );

  test('does not go on with a snapshot whose changes are gone', async () => {
    const { values } = await carryOut({ ends: ['failed'] });
    await expect(carryOut({ values, lost: true })).rejects.toThrow('the changes are gone');
  });

  test('begins again where that is asked for, whatever it did before', async () => {
    anchorsTaken = 0;
    const { values } = await carryOut({});
    const { ran } = await carryOut({ values, restart: true });
    expect(ran).toEqual(['snapshot from null', 'stream from "anchor 2"']);
  });

  test('a snapshot of another position does not go on where the last one stopped', async () => {
    const { values } = await carryOut({ ends: ['failed'] });
    const { ran } = await carryOut({ values, restart: true });
    expect(ran[0]).toBe('snapshot from null');
  });

  test('reads changes again and again until it is stopped, or until they fail', async () => {
    const { ran, result } = await carryOut({ continuous: true, stopIn: 4 });
    expect(ran).toHaveLength(4);
    expect(result).toMatchObject({ status: 'cancelled', streamRuns: 3, streamWritten: 6 });
    const failing = await carryOut({
      continuous: true,
      ends: ['completed', 'completed', 'failed'],
    });
    expect(failing.result).toMatchObject({ status: 'failed', streamRuns: 2 });
  });

  test.each([
    ['rows', 1],
    ['changes', 2],
  ])('writes nothing more when another process took over while it copied %s', async (_, run) => {
    refusals = [];
    const values = new Map<string, JsonValue>();
    const over = carryOut({ values, continuous: true, takenOverIn: run, stopIn: 4 });
    await expect(over).rejects.toMatchObject({ code: 'state_lease_lost' });
    expect(refusals).toMatchObject([{ code: 'state_lease_lost' }]);
    expect(values.get(MARKER)).toMatchObject({ phase: run === 1 ? 'snapshot' : 'stream' });
  });

  test('needs a record of it that can be read', async () => {
    const values = new Map<string, JsonValue>([[MARKER, { phase: 'perhaps' }]]);
    await expect(carryOut({ values })).rejects.toThrow('is not a record of a replication');
    expect((await carryOut({ values, restart: true })).ran).toHaveLength(2);
  });
});

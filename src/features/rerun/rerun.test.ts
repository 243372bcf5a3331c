import { expect, test } from 'vitest';
import { CALLER, refusalOf, rest, submission, testService } from '../../../test/support/runs.ts';
import { rerunRequestSchema } from '../../wire/rerun.ts';
import { createRerun } from './rerun.ts';

async function world(base?: { content: string; hash: string }) {
  let now = base;
  const service = await testService({ base: () => now, limits: { maxQueued: 50 } });
  const rerun = createRerun({ runs: service.runs, audit: service.runs.audit });
  const ended = async (submitted: Promise<{ run_id: string }>): Promise<string> => {
    const { run_id } = await submitted;
    await rest();
    service.executor.last.finish();
    await rest();
    return run_id;
  };
  return {
    ...service,
    ended,
    changeBase: (next: typeof base) => (now = next),
    rerun: (runId: string, request: object = {}) =>
      rerun(runId, rerunRequestSchema.parse(request), CALLER),
  };
}

const SETTINGS = { name: 'n', timeout_secs: 7, concurrency: 3, clock: '2026-01-01T00:00:00Z' };

test('a run is run again as it was: document, settings, labels, clock, default document', async () => {
  const base = { content: '{"vars":{"a":1}}', hash: 'h' };
  const made = await world(base);
  const config = '{"version": 1, "vars": {"b": 2}}';
  const id = await made.ended(
    made.runs.submit(
      submission({ config, ...SETTINGS, labels: { team: 'a' }, idempotency_key: 'k' }),
      CALLER,
    ),
  );
  const before = made.executor.last.request;
  made.changeBase({ content: '{"vars":{"a":2}}', hash: 'other' });
  const receipt = await made.rerun(id);
  expect(receipt).toMatchObject({ status: 'queued', rerun_of: id });
  expect(receipt.run_id).not.toBe(id);
  await rest();
  expect(made.executor.last.request).toEqual({ ...before, run_id: receipt.run_id });
  expect(await made.record(receipt.run_id)).toMatchObject({
    name: 'n',
    labels: { team: 'a', rerun_of: id },
    idempotency_key: null,
  });
  expect(await made.runs.audit.list({ limit: 1 })).toMatchObject([
    { action: 'run.rerun', run_id: id, principal: 'ann' },
  ]);
});

test('a run is run again with its priority, or another one', async () => {
  const made = await world();
  const id = await made.ended(made.runs.submit(submission({ priority: 'low' }), CALLER));
  const [same, other] = [await made.rerun(id), await made.rerun(id, { priority: 'high' })];
  expect((await made.record(same.run_id)).priority).toBe('low');
  expect((await made.record(other.run_id)).priority).toBe('high');
});

test('without a default document of its own a run takes none later', async () => {
  const made = await world();
  const id = await made.ended(made.runs.submit(submission(), CALLER));
  made.changeBase({ content: '{"vars":{"a":2}}', hash: 'other' });
  await made.rerun(id);
  await rest();
  expect(made.executor.last.request.document.base).toBeNull();
});

test('the clock is that of the run, of now, or one that is named; sources begin as asked', async () => {
  const made = await world();
  const id = await made.ended(made.runs.submit(submission(SETTINGS), CALLER, { anew: true }));
  const requests = [
    [{}, '2026-01-01T00:00:00.000Z', true],
    [{ clock: 'now', from: 'bookmark' }, '2026-08-01T12:00:00.000Z', false],
    [{ clock: '2025-05-05T00:00:00Z', from: 'start' }, '2025-05-05T00:00:00.000Z', true],
  ] as const;
  for (const [request, clock, reads_anew] of requests) {
    await made.ended(made.rerun(id, request));
    expect(made.executor.last.request).toMatchObject({ clock, reads_anew });
  }
  expect(await refusalOf(made.rerun(id, { clock: 'yesterday' }))).toMatchObject({
    code: 'unprocessable',
    message: expect.stringContaining('clock'),
  });
});

test('the measurements go where those of the run went, and its time zone stays', async () => {
  const made = await world();
  const how = { measuredAs: 'orders', zone: 'Asia/Tokyo' };
  const id = await made.ended(made.runs.submit(submission(), CALLER, how));
  const { run_id } = await made.rerun(id);
  const { content } = await made.runs.submitted(run_id);
  expect(content).toMatchObject({ measured_as: 'orders', zone: 'Asia/Tokyo' });
});

test('secret values have to be given again, and are not stored of the new run either', async () => {
  const made = await world();
  const id = await made.ended(
    made.runs.submit(submission(), CALLER, {
      bound: {
        params: { day: 'monday', token: 'hunter22' },
        env: { PASSWORD: 'canary' },
        secretParams: ['token'],
      },
    }),
  );
  const refused = await refusalOf(made.rerun(id, { params: { day: 'friday' } }));
  expect(refused).toMatchObject({
    code: 'unprocessable',
    message:
      'the run was given secret values, which are not stored: param `token`, variable `PASSWORD`',
    hint: 'give them again as `params` and `env`',
    details: { missing: { params: ['token'], env: ['PASSWORD'] } },
  });
  const given = { params: { day: 'friday', token: 'hunter23' }, env: { PASSWORD: 'canary2' } };
  const next = await made.ended(made.rerun(id, given));
  expect(made.executor.last.request.document.bound).toEqual(given);
  const stored = await made.history.getSubmission(next);
  expect(stored?.content).toContain('friday');
  for (const secret of ['hunter', 'canary']) expect(stored?.content).not.toContain(secret);
});

test('what cannot be run again says why', async () => {
  const made = await world();
  const { run_id } = await made.runs.submit(submission(), CALLER);
  expect(await refusalOf(made.rerun(run_id))).toMatchObject({ code: 'conflict' });
  expect(await refusalOf(made.rerun('nobody'))).toMatchObject({ code: 'not_found' });
  await rest();
  made.executor.last.finish();
  await rest();
  made.history.getSubmission = () => Promise.resolve(undefined);
  expect(await refusalOf(made.rerun(run_id))).toMatchObject({
    code: 'unprocessable',
    message: 'the document of the run is not stored',
  });
  // As an earlier build stored it.
  const content = { ...SETTINGS, version: 1, config: '{}', config_format: 'json' };
  const legacy = {
    reads_anew: false,
    measured_as: null,
    callback: 'none',
    is_bound_withheld: true,
  };
  made.history.getSubmission = () =>
    Promise.resolve({ content: JSON.stringify({ ...content, ...legacy }) });
  expect(await refusalOf(made.rerun(run_id))).toMatchObject({
    message: expect.stringContaining('its params and variables'),
  });
  expect(await made.rerun(run_id, { env: { A: 'b' } })).toMatchObject({ rerun_of: run_id });
});

test('of a run that an event began, new values are held to what values of a caller are', async () => {
  const made = await world();
  const bound = {
    params: { body: 'costs ${5}' },
    env: {},
    params_are_data: true as const,
    secretParams: [],
  };
  const config = JSON.stringify({ version: 1, params: { body: {}, other: { default: 'o' } } });
  const id = await made.ended(made.runs.submit(submission({ config }), CALLER, { bound }));
  expect(await refusalOf(made.rerun(id, { params: { other: '${env:HOME}' } }))).toMatchObject({
    code: 'bad_config',
    message: 'the value of `other` holds `${`: a supplied value is plain data',
  });
  await made.ended(made.rerun(id, { params: { other: 'plain' } }));
  expect(made.executor.last.request.document.bound).toMatchObject({
    params: { body: 'costs ${5}', other: 'plain' },
    params_are_data: true,
  });
});

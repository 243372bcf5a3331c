import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFixture } from '../../../test/support/server.ts';

let cwd = '';
const deadLetter = (payload: number, reason: string): string =>
  `${JSON.stringify({ reason, payload, ts_ms: payload })}\n`;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-dlq-'));
  await writeFile(
    join(cwd, 'dead.jsonl'),
    `${deadLetter(1, 'quality')}garbage\n${deadLetter(2, 'contract')}`,
  );
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

test('a viewer may look, and nothing is changed', async () => {
  const { ask, audited } = await startFixture({ cwd });
  const answer = await ask('POST', '/v1/dlq/inspect', {
    as: 'viewer',
    body: { location: 'dead.jsonl' },
  });
  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({
    total_envelopes: 2,
    malformed: 1,
    by_reason: { contract: 1, quality: 1 },
  });
  expect(audited).toEqual([]);
});

test('an operator discards, a viewer may not, and both are in the audit log', async () => {
  const { ask, audited } = await startFixture({ cwd });
  const body = { location: 'dead.jsonl', reason: 'quality' };
  expect((await ask('POST', '/v1/dlq/discard', { as: 'viewer', body })).status).toBe(403);
  const answer = await ask('POST', '/v1/dlq/discard', { as: 'operator', body });
  expect(answer.json()).toEqual({
    discarded: 1,
    files_rewritten: 1,
    archived_to: [join(cwd, 'dead.archived.jsonl')],
  });
  expect(await readFile(join(cwd, 'dead.jsonl'), 'utf8')).toBe(
    `garbage\n${deadLetter(2, 'contract')}`,
  );
  expect(audited.map(({ action, result, role }) => [action, result, role])).toEqual([
    ['dlq.discard', 'denied', 'viewer'],
    ['dlq.discard', 'ok', 'operator'],
  ]);
});

test.each([
  ['an unknown reason', { location: 'dead.jsonl', reason: 'bored' }],
  ['no location', {}],
  ['a location where nothing is', { location: 'nowhere.jsonl' }],
  ['a negative number of dead letters', { location: 'dead.jsonl', limit: -1 }],
])('%s is a 400', async (_what, body) => {
  const { ask } = await startFixture({ cwd });
  expect((await ask('POST', '/v1/dlq/inspect', { body })).status).toBe(400);
});

test('what fails is in the audit log as an error', async () => {
  const { ask, audited } = await startFixture({ cwd });
  await ask('POST', '/v1/dlq/discard', { body: { location: 'nowhere.jsonl' } });
  expect(audited).toEqual([expect.objectContaining({ action: 'dlq.discard', result: 'error' })]);
});

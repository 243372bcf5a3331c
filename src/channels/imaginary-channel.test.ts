/** A channel that nothing else knows: its definition and its place in the list are all there is. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { issuesOf, plan as planText } from '../../test/fakes/documents.ts';
import { testEnv } from '../../test/fakes/env.ts';
import { startHttpServer } from '../../test/fakes/http-server.ts';
import { endedRun, invocation, notifyOf } from '../../test/support/notifications.ts';
import { BLOCKS } from '../blocks/index.ts';
import { blockOf } from '../blocks/define-block.ts';
import { notificationsBlockOf } from '../blocks/notifications/index.ts';
import { formatNotifications } from '../cli/render/format-after-run.ts';
import { describedBlocks, grammarOf } from '../document/grammar.ts';
import { createNotifier } from '../features/notifications/index.ts';
import { tryRules } from '../features/notifications/try-out.ts';
import { defineChannel } from '../kit/channel.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';
import { text } from '../kit/schema.ts';
import { CHANNELS } from './index.ts';

const config = z.lazy(() =>
  z.strictObject({
    tower: text().meta({ description: 'Address of the tower.' }),
    password: text().meta({ description: 'What the guard asks for.', secret: true }),
  }),
);

const beacon = defineChannel<z.infer<typeof config>>({
  type: 'beacon',
  aliases: ['fire'],
  description: 'A fire on a tower.',
  config,
  examples: [{ tower: 'https://tower.example.com', password: 'friend' }],
  address: ({ tower }) => tower,
  secrets: ({ password }) => [password],
  message: ({ tower, password }, { event, row }) => ({
    url: tower,
    method: 'PUT',
    headers: { 'x-password': password },
    body: `${event} ${row}`,
  }),
  incidents: {
    opening: new Set(['run_failure']),
    resolve: ({ tower }, { row }) => ({
      url: tower,
      method: 'PUT',
      headers: {},
      body: `put out ${row}`,
    }),
  },
});

const channels = [...CHANNELS, beacon];
const notifications = notificationsBlockOf(channels);
const definitions = BLOCKS.map((block) => (block.name === 'notifications' ? notifications : block));
const plan = (tower: string) =>
  planText(
    `{version: 1, pipeline: {source: {type: numbers, config: {to: 3}}, sink: {type: lines, config: {path: p}}},
      notifications: [{name: hills, channel: {type: fire, config: ${tower}}}]}`,
    { definitions },
  );

test('is in the schemas and held to its own', () => {
  expect(JSON.stringify(jsonSchemaOf(grammarOf(definitions).document))).toContain('"beacon"');
  const block = describedBlocks(grammarOf(definitions)).find(
    ({ name }) => name === 'notifications',
  );
  expect(JSON.stringify(jsonSchemaOf(block?.schema ?? z.never()))).toContain('A fire on a tower.');
  expect(issuesOf(() => plan('{tower: "http://tower.test"}'))).toEqual([
    'missing_key notifications[0].channel.config.password',
  ]);
});

test('is sent events, keeps incidents, and its secrets stay hidden', async () => {
  await using server = await startHttpServer(() => ({}));
  const planned = plan(`{tower: "${server.url}", password: friend}`);
  const { rules = [] } = blockOf(planned, notifications) ?? {};
  const notifier = createNotifier(testEnv(), channels);
  const error = { code: 'broken', kind: 'Sink', message: 'it broke' } as const;
  for (const one of [invocation('eu', { error }), invocation('eu')]) {
    notifyOf(notifier, endedRun([one], { rules }));
    await notifier.settle(new AbortController().signal);
  }
  expect(server.requests.map(({ body }) => body)).toEqual(['run_failure eu', 'put out eu']);
});

test('is tried out and described as the others are', async () => {
  await using server = await startHttpServer(() => ({ status: 500, body: 'not friend' }));
  const planned = plan(`{tower: "${server.url}", password: friend}`);
  expect(formatNotifications(planned)).toEqual([
    'hills (fire) is notified of everything, and when the row succeeds again.',
  ]);
  const tried = (kind: 'run_success' | 'run_failure') =>
    tryRules(planned, kind, testEnv(), channels);
  expect(await tried('run_success')).toMatchObject([{ outcome: 'nothing_to_send' }]);
  const [failed] = await tried('run_failure');
  expect(failed).toMatchObject({ channel: 'fire', outcome: 'failed' });
  expect(failed?.reason).toContain('500');
  expect(failed?.reason).not.toContain('friend');
});

/** Runs that have ended are run again and shown as planned, also by the next server. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import type { RunPlan } from '../../src/wire/rerun.ts';
import { workshop, type Body } from './serve-program.ts';

const shop = workshop();
afterAll(() => shop.dispose());

const TOKEN = 'canary-of-a-parameter';
const PASSWORD = 'canary-of-the-environment';
const DOCUMENT = `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: 'in.csv' } }
  transforms:
    - { type: set, config: { values: { at: '\${now.date}', password: '\${env:PASSWORD}' } } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

test('a run is run again by the next server, with its clock; the plan hides what is secret', async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  const start = () => shop.start({ variables: { PASSWORD } });
  const first = await start();
  const run = await first.submit(DOCUMENT, { clock: '2026-01-31T00:00:00Z', labels: { a: 'b' } });
  expect(await first.ended(run)).toMatchObject({ status: 'completed', records_written: 2 });
  const before = readFileSync(shop.path('out.jsonl'), 'utf8');
  expect(await first.stop()).toBe(0);
  rmSync(shop.path('out.jsonl'));

  const next = await start();
  const answer = await next.call('POST', `/v1/runs/${run}/rerun`);
  expect(answer.status, answer.text).toBe(202);
  const { run_id, rerun_of } = answer.json() as Body;
  expect(rerun_of).toBe(run);
  expect(await next.ended(String(run_id))).toMatchObject({
    status: 'completed',
    labels: { a: 'b', rerun_of: run },
  });
  expect(readFileSync(shop.path('out.jsonl'), 'utf8')).toBe(before);

  const shown = await next.call('GET', `/v1/runs/${run_id}/plan`);
  expect(shown.status, shown.text).toBe(200);
  expect(shown.json() as RunPlan).toMatchObject({
    run_id,
    name: 'orders',
    clock: '2026-01-31T00:00:00.000Z',
    from: 'bookmark',
    rows: [
      { source: { type: 'csv', uri: expect.stringContaining('in.csv') }, transforms: ['set'] },
    ],
    stood_in: [],
  });
  expect(shown.text).not.toContain(PASSWORD);
  expect((await next.call('DELETE', `/v1/runs/${run}`)).status).toBe(204);
  expect((await next.call('POST', `/v1/runs/${run}/rerun`)).status).toBe(404);
});

test('secret parameters of a template are given again, and stand in the plan as stars', async () => {
  const server = await shop.start({
    variables: { PASSWORD },
    args: ['--data-dir', shop.path('d2')],
  });
  const config = DOCUMENT.replace('${now.date}', '${param.token}')
    .replace(
      'pipeline:',
      `params:
  token: { required: true, secret: true }
  file: { default: in }
pipeline:`,
    )
    .replace("path: 'in.csv'", "path: '${param.file}-${param.token}.csv'");
  writeFileSync(shop.path(`in-${TOKEN}.csv`), 'id\n7\n');
  const registered = await server.call('POST', '/v1/templates', { config, launch: true });
  expect(registered.status, registered.text).toBe(201);
  const started = await server.call('POST', '/v1/templates/orders/runs', {
    params: { token: TOKEN },
  });
  const { run_id: run } = started.json() as { run_id: string };
  expect((await server.ended(run)).status).toBe('completed');

  const refused = await server.call('POST', `/v1/runs/${run}/rerun`, {});
  expect([refused.status, refused.json()]).toMatchObject([
    422,
    { error: { code: 'unprocessable', details: { missing: { params: ['token'], env: [] } } } },
  ]);
  const again = await server.call('POST', `/v1/runs/${run}/rerun`, { params: { token: TOKEN } });
  expect(again.status, again.text).toBe(202);
  const { run_id } = again.json() as { run_id: string };
  expect(await server.ended(run_id)).toMatchObject({
    status: 'completed',
    labels: { template: 'orders', rerun_of: run },
  });
  const plan = await server.call('GET', `/v1/runs/${run}/plan`);
  expect(plan.json()).toMatchObject({
    rows: [{ source: { uri: expect.stringContaining('in-***.csv') } }],
    params: { token: '***', file: 'in' },
    stood_in: ['token'],
  });
  expect(plan.text).not.toContain(TOKEN);
  const audit = await server.call('GET', '/v1/audit?action=run.rerun');
  expect(audit.text).toContain(run);
  expect(existsSync(shop.path('d2/history.db'))).toBe(true);
  expect(await server.stop()).toBe(0);
  expect(readFileSync(shop.path('d2/history.db'), 'latin1')).not.toContain(TOKEN);
});

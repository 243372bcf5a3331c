/** Documents that the server runs by itself, from a folder and from templates, over restarts. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScheduleView } from '../../src/wire/schedules.ts';
import { workshop, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
beforeAll(() => {
  mkdirSync(shop.path('schedules'));
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
});
afterAll(() => shop.dispose());

const document = (schedule: string, path = '${now.strftime.%H}.jsonl'): string => `version: 1
schedule: { ${schedule} }
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: { type: jsonl, config: { path: '${path}' } }
`;
const write = (name: string, text: string): void =>
  writeFileSync(shop.path(`schedules/${name}`), text);
const start = (data: string, variables = {}): Promise<Program> =>
  shop.start({
    args: ['--schedules', shop.path('schedules'), '--data-dir', data],
    variables,
  });

async function view(server: Program, name: string): Promise<ScheduleView> {
  const answer = await server.call('GET', `/v1/schedules/${encodeURIComponent(name)}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as ScheduleView;
}
async function post(server: Program, path: string): Promise<Body> {
  const answer = await server.call('POST', `/v1/schedules/${path}`);
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json() as Body;
}

test('a document of the folder runs by the clock of its zone; it is listed, paused, resumed and run now', async () => {
  write('every.yaml', document("cron: '* * * * * *', timezone: Asia/Tokyo"));
  write(
    'yearly.json',
    JSON.stringify({
      version: 1,
      name: 'year',
      schedule: { cron: '0 0 1 1 *' },
      pipeline: {
        source: { type: 'csv', config: { path: 'in.csv' } },
        sink: { type: 'jsonl', config: { path: 'year.jsonl' } },
      },
    }),
  );
  const data = shop.fresh('data');
  const hourInTokyo = (): string =>
    new Date().toLocaleString('en-GB', { timeZone: 'Asia/Tokyo', hour: '2-digit' });
  const hourBefore = hourInTokyo();
  const server = await start(data);
  await eventually(async () => expect((await view(server, 'every')).successes).toBeGreaterThan(1));
  const listed = (await server.call('GET', '/v1/schedules')).json() as {
    schedules: ScheduleView[];
  };
  expect(listed.schedules).toMatchObject([
    {
      name: 'every',
      state: 'active',
      pipeline: 'every',
      cron: '* * * * * *',
      timezone: 'Asia/Tokyo',
      overlap_policy: 'skip',
      last_run: { run_id: expect.any(String) },
      consecutive_failures: 0,
      reason: null,
    },
    {
      name: 'yearly',
      state: 'active',
      pipeline: 'year',
      last_run: null,
      next_run: expect.stringMatching(/-01-01T00:00:00.000Z$/),
    },
  ]);
  const { runs } = await server.list('?limit=500&status=completed');
  expect(new Set(runs.map(({ labels }) => labels['tick'])).size).toBe(runs.length);
  expect(runs[0]).toMatchObject({
    name: 'every',
    labels: { schedule: 'every', tick: expect.stringMatching(/:\d\d\.000Z$/) },
  });
  const hours = [hourBefore, hourInTokyo()];
  expect(hours.some((hour) => existsSync(shop.path(`${hour}.jsonl`)))).toBe(true);

  expect(await post(server, 'every/pause')).toMatchObject({
    state: 'paused',
    next_run: null,
    paused: { by: 'anonymous' },
  });
  expect(await post(server, 'yearly/run')).toMatchObject({ status: 'queued' });
  await eventually(async () =>
    expect((await view(server, 'yearly')).last_run).toMatchObject({ status: 'completed' }),
  );
  expect((await view(server, 'yearly')).successes).toBe(0);
  expect((await server.call('POST', '/v1/schedules/nobody/run')).status).toBe(404);
  const audit = await server.call('GET', '/v1/audit?action=schedule.pause');
  expect(audit.text).toContain('schedule.pause');
  expect(await server.stop()).toBe(0);

  const next = await start(data);
  const paused = await view(next, 'every');
  expect(paused).toMatchObject({ state: 'paused', successes: expect.any(Number) });
  const { successes } = (await post(next, 'every/resume')) as unknown as ScheduleView;
  await eventually(async () =>
    expect((await view(next, 'every')).successes).toBeGreaterThan(successes),
  );
  expect((await next.call('GET', '/metrics')).text).toContain(
    'svc_schedule_runs_total{pipeline="every",outcome="ok"}',
  );
  expect(await next.stop()).toBe(0);
});

test('the folder is read again on request: all of it, or nothing', async () => {
  rmSync(shop.path('schedules'), { recursive: true });
  mkdirSync(shop.path('schedules'));
  write('one.yaml', document("cron: '0 0 1 1 *'"));
  const server = await start(shop.fresh('data'), { CRON: '0 3 * * *' });
  const names = async (): Promise<string[]> =>
    (
      (await server.call('GET', '/v1/schedules')).json() as { schedules: ScheduleView[] }
    ).schedules.map(({ name, cron }) => `${name} ${cron}`);
  write('two.yaml', document("cron: '${env:CRON}'"));
  write('three.yaml', document("cron: '0 0 30 2 *'"));
  write('four.yaml', 'version: 1\npipeline: {}\n');
  const refused = await server.call('POST', '/v1/reload');
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('four.yaml')]);
  expect(refused.text).toContain('no `schedule`');
  rmSync(shop.path('schedules/four.yaml'));
  const never = await server.call('POST', '/v1/reload');
  expect([never.status, never.text]).toEqual([422, expect.stringContaining('never comes true')]);
  expect(never.text).toContain('three.yaml');
  expect(await names()).toEqual(['one 0 0 1 1 *']);
  rmSync(shop.path('schedules/three.yaml'));
  rmSync(shop.path('schedules/one.yaml'));
  expect((await server.call('POST', '/v1/reload')).json()).toMatchObject({
    schedules: { reloaded: true },
  });
  expect(await names()).toEqual(['two 0 3 * * *']);
  expect(await server.stop()).toBe(0);
});

test('the launched version of a template runs when it says; a rollback and a deletion are seen', async () => {
  rmSync(shop.path('schedules'), { recursive: true });
  mkdirSync(shop.path('schedules'));
  const server = await start(shop.fresh('data'));
  const register = async (cron: string, launch: boolean): Promise<void> => {
    const config = `name: orders\n${document(`cron: '${cron}'`, 'template.jsonl')}`;
    const answer = await server.call('POST', '/v1/templates', { config, launch });
    expect(answer.status, answer.text).toBe(201);
  };
  await register('0 0 1 1 *', true);
  await register('* * * * * *', false);
  await eventually(async () =>
    expect(await view(server, 'template:orders')).toMatchObject({
      cron: '0 0 1 1 *',
      source: { kind: 'template', id: 'orders', version: 1 },
    }),
  );
  const run = await server.call('POST', '/v1/templates/orders/runs', {});
  expect(run.status, run.text).toBe(202);
  expect((await server.call('POST', '/v1/templates/orders/launch')).status).toBe(200);
  await eventually(async () =>
    expect((await view(server, 'template:orders')).successes).toBeGreaterThan(0),
  );
  expect((await view(server, 'template:orders')).source).toMatchObject({ version: 2 });
  const { runs } = await server.list('?limit=1');
  expect(runs[0]?.labels).toMatchObject({
    schedule: 'template:orders',
    template: 'orders',
    template_version: '2',
  });
  // Every second a run writes it anew.
  await expect.poll(() => readFileSync(shop.path('template.jsonl'), 'utf8')).toContain('"id":"1"');
  expect((await server.call('POST', '/v1/templates/orders/rollback')).status).toBe(200);
  await eventually(async () =>
    expect((await view(server, 'template:orders')).cron).toBe('0 0 1 1 *'),
  );
  expect((await server.call('DELETE', '/v1/templates/orders')).status).toBe(204);
  await eventually(async () =>
    expect((await server.call('GET', '/v1/schedules')).json()).toEqual({ schedules: [] }),
  );
  expect(await server.stop()).toBe(0);
});

/** What was accepted is done, though the server that accepted it is killed; and no secret is kept. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop } from './serve-program.ts';

const SECRETS = { FROM_ENV: 'canary-of-the-environment', FROM_FILE: 'canary-of-a-file' };
const shop = workshop();
afterAll(() => shop.dispose());

const start = (data: string) =>
  shop.start({
    args: ['--data-dir', data, '--max-concurrent-runs', '1'],
    variables: { FROM_ENV: SECRETS.FROM_ENV },
  });

function everythingStoredIn(data: string): string {
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

test(
  'queued runs are executed once by the next server, whatever killed the one before',
  { timeout: 120_000 },
  async () => {
    writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
    writeFileSync(shop.path('secret.txt'), SECRETS.FROM_FILE);
    const api = await silentApi();
    const data = shop.fresh('data');
    const before = await start(data);
    const running = await before.submit(api.document(shop.path('running.jsonl')));
    await before.until(running, 'running');
    const ids = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => {
        const document = csvToJsonl(shop.path('in.csv'), shop.path(`queued-${n}.jsonl`));
        const vars = { env: '${env:FROM_ENV}', file: `\${file:${shop.path('secret.txt')}}` };
        return before.submit({ ...document, name: `queued-${n}`, vars });
      }),
    );
    await before.stop('SIGKILL');
    const stored = everythingStoredIn(data);
    expect(stored).toContain('${env:FROM_ENV}');
    for (const secret of Object.values(SECRETS)) expect(stored).not.toContain(secret);

    const after = await start(data);
    for (const [index, id] of ids.entries()) {
      expect(await after.ended(id)).toMatchObject({
        status: 'completed',
        name: `queued-${index + 1}`,
        records_written: 2,
        attempt: 0,
      });
      const log = (await after.call('GET', `/v1/runs/${id}/logs?format=text`)).text;
      expect(log.match(/pipeline run starting/g)).toHaveLength(1);
    }
    expect(await after.get(running)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('the run was interrupted'),
    });
    for (const id of ids) await after.call('DELETE', `/v1/runs/${id}`);
    expect(await after.stop()).toBe(0);
    expect(everythingStoredIn(data)).not.toContain('${env:FROM_ENV}');
    api.close();
  },
);

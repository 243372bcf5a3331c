import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand, testWiring } from '../../../test/support/cli.ts';
import { parts } from '../../parts.ts';

const dir = mkdtempSync(join(tmpdir(), 'headgate-triggers-'));
afterAll(() => rmSync(dir, { recursive: true }));

const document = {
  version: 1,
  pipeline: {
    source: { type: 'jsonl', config: { path: 'in-${trigger.header.day}.jsonl' } },
    sink: { type: 'jsonl', config: { path: '${env:OUT}.jsonl' } },
  },
};
writeFileSync(join(dir, 'orders.json'), JSON.stringify(document));
const hook = { name: 'orders', type: 'webhook', config: 'orders.json', debounce_secs: 5 };
writeFileSync(join(dir, 'good.json'), JSON.stringify({ version: 1, triggers: [hook] }));
writeFileSync(
  join(dir, 'bad.json'),
  JSON.stringify({ version: 1, triggers: [{ ...hook, methods: ['GET'] }] }),
);

async function checked(...args: string[]) {
  return runCommand(['triggers', 'check', ...args], testWiring(parts), {
    cwd: dir,
    variables: { OUT: 'out' },
  });
}

test('a file that can be used is shown, with when each trigger starts a run', async () => {
  const { code, out } = await checked('good.json');
  expect(code).toBe(0);
  expect(out).toContain('valid: 1 trigger');
  expect(out).toContain('POST /v1/triggers/orders, at most every 5 s');
  expect(JSON.parse((await checked('good.json', '--json')).out)).toEqual({
    valid: true,
    triggers: [
      {
        name: 'orders',
        type: 'webhook',
        enabled: true,
        starts: 'POST /v1/triggers/orders, at most every 5 s',
        config: 'orders.json',
      },
    ],
  });
});

test('one that cannot fails with its problems, also as JSON', async () => {
  const { code, err } = await checked('bad.json');
  expect(code).toBe(1);
  expect(err).toContain('triggers[0].methods[0]');
  expect(JSON.parse((await checked('bad.json', '--json')).out)).toMatchObject({
    valid: false,
    issues: [{ code: 'invalid_value', path: 'triggers[0].methods[0]' }],
  });
  expect((await checked('none.yaml')).code).toBe(1);
});

test('no file is a mistake of the command line', async () => {
  expect((await checked()).code).toBe(2);
});

import { expect, test } from 'vitest';
import { runRecord, startFixture } from '../../../test/support/server.ts';

test.each(['/v1/runs/run-1/receipt', '/runs/run-1/receipt'])(
  '%s is a page that may do nothing, and that nothing keeps',
  async (address) => {
    const { ask, script } = await startFixture();
    const name = '<script>alert(1)</script>';
    script.records.set('run-1', runRecord({ name, error: 'it broke' }));
    const { status, headers, body } = await ask('GET', address);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'inline; filename="headgate-run-1.html"',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining('sandbox'),
      'x-content-type-options': 'nosniff',
    });
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).not.toContain('<script');
    expect(body).toMatch(/it broke[^]*The plan cannot be shown/);
  },
);

test('a run that has not ended has no receipt yet, and an unknown one has none', async () => {
  const { ask, script } = await startFixture();
  script.records.set('run-1', runRecord({ status: 'running' }));
  expect((await ask('GET', '/v1/runs/run-1/receipt')).status).toBe(409);
  expect((await ask('GET', '/v1/runs/absent/receipt')).status).toBe(404);
});

test('nobody reads a receipt without a token', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/runs/run-1/receipt', { as: null })).status).toBe(401);
});

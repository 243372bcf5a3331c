import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { HeadgateClient } from './client.ts';
import { HeadgateError } from './errors.ts';

test('a token that no request can carry is refused without being repeated', () => {
  expect(() => new HeadgateClient({ server: 'http://x', token: 'hun\nter2' })).toThrow(
    expect.objectContaining({
      code: 'bad_token',
      message: 'the token holds a line break, which no request can carry',
      hint: expect.any(String) as string,
    }),
  );
});

test('a token may hold any letters, which are sent as UTF-8', async () => {
  const sent: (string | null)[] = [];
  const client = new HeadgateClient({
    server: 'http://x',
    token: 'schlüssel-🔑\n',
    fetch: (request) => {
      sent.push((request as Request).headers.get('authorization'));
      return Promise.resolve(Response.json({ run_id: 'a' }));
    },
  });
  await client.run('a');
  expect(Buffer.from(sent[0] ?? '', 'latin1').toString()).toBe('Bearer schlüssel-🔑');
});

test.each([
  ['http', 'there is no HTTP at'],
  ['https', 'there is no TLS at'],
])('another program at the port is told over %s', async (scheme, says) => {
  const other = createServer((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const client = new HeadgateClient({ server: `${scheme}://127.0.0.1:${port}` });
  const error: unknown = await client.run('a').catch((thrown: unknown) => thrown);
  other.close();
  expect(error).toBeInstanceOf(HeadgateError);
  expect(error).toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining(says) as string,
    hint: expect.stringContaining('port') as string,
  });
});

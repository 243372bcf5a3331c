import { expect, test } from 'vitest';
import { cannotListen, isLoopback, parseListen } from './listen.ts';

test.each([
  ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
])('%s is an address', (written, address) => {
  expect(parseListen(written)).toEqual(address);
});

test.each([
  '',
  '8080',
  ':8080',
  'localhost',
  'localhost:',
  'localhost:65536',
  '::1:80',
  'http://localhost:80',
  'a b:80',
  'localhost:-1',
])('%j is no address', (written) => {
  expect(() => parseListen(written)).toThrow('is not an address');
});

test('loopback is localhost, 127/8 and ::1', () => {
  expect(['localhost', '127.0.0.1', '127.9.9.9', '::1'].every(isLoopback)).toBe(true);
  expect(['0.0.0.0', '::', '10.0.0.1', '127.evil.example'].some(isLoopback)).toBe(false);
});

test('a known reason is reported in one sentence, an unknown one keeps its cause', () => {
  const at = { host: '127.0.0.1', port: 80 };
  const inUse = cannotListen(
    at,
    Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' }),
  );
  expect(inUse.message).toBe('cannot listen on 127.0.0.1:80: the port is in use');
  expect(inUse.cause).toBeUndefined();
  const strange = new Error('the network is on fire');
  expect(cannotListen(at, strange)).toMatchObject({
    message: 'cannot listen on 127.0.0.1:80: the network is on fire',
    cause: strange,
  });
});

import { describe, expect, test } from 'vitest';
import { carriesBody, headerFault, splitLogin } from './outgoing-request.ts';

test('a GET carries no body, whatever its case; a POST does', () => {
  expect(['get', 'HEAD', 'Trace'].map(carriesBody)).toEqual([false, false, false]);
  expect(['POST', 'put'].map(carriesBody)).toEqual([true, true]);
});

describe('a header', () => {
  test('that can be sent has no fault', () => {
    expect(headerFault('X-Team', 'data')).toBeUndefined();
  });

  test('of the connection itself, or with a name or value that cannot be sent, is refused without its value', () => {
    expect(headerFault('Content-Length', '3')).toBe('`Content-Length` cannot be set');
    expect(headerFault('a b', 'x')).toBe('"a b" is not a header that can be sent');
    expect(headerFault('X-Key', 'hidden\nhidden')).toBe('"X-Key" is not a header that can be sent');
  });
});

describe('the login of an address', () => {
  test('becomes a header, decoded', () => {
    const { url, authorization } = splitLogin('https://me:p%40ss@host.test/a?b=1');
    expect(url.href).toBe('https://host.test/a?b=1');
    expect(authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
  });

  test('may hold a percent sign that begins no code', () => {
    expect(splitLogin('https://me:50%@host.test/').authorization).toBe(
      `Basic ${Buffer.from('me:50%').toString('base64')}`,
    );
  });

  test('is absent where there is none', () => {
    expect(splitLogin('https://host.test/')).toEqual({
      url: new URL('https://host.test/'),
      authorization: undefined,
    });
  });
});

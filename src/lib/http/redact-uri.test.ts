import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactUri } from './redact-uri.ts';

describe('an address shown outside', () => {
  it.each([
    [
      'postgres://me:p@ss/w@db.example:5432/shop?table=orders',
      'postgres://db.example:5432/shop?table=orders',
    ],
    ['https://me@host/path', 'https://host/path'],
    ['nats://u:p@[::1]:4222?subject=a', 'nats://[::1]:4222?subject=a'],
    ['s3://bucket/prefix/@scope/x', 's3://bucket/prefix/@scope/x'],
    [
      'postgres://h:5432/d?query=select * from t where mail = a@b.com',
      'postgres://h:5432/d?query=select * from t where mail = a@b.com',
    ],
    ['file:///home/me@work/x.csv', 'file:///home/me@work/x.csv'],
    ['https://h/x?a=1&Access-Token=abc?d&b=2', 'https://h/x?a=1&Access-Token=***&b=2'],
    [
      'sqlserver://h;Database=d;Shared%20Access%20Key=abc==;x=1',
      'sqlserver://h;Database=d;Shared%20Access%20Key=***;x=1',
    ],
    ['https://h/blob?sv=1&sig=abc%2F', 'https://h/blob?sv=1&sig=***'],
    ['https://h/x#access_token=abc', 'https://h/x#access_token=***'],
    ['mssql://h;d=e;password=@a?b&z=1', 'mssql://h;d=e;password=***&z=1'],
    ['postgres://h/d?sslpassword=abc&table=t', 'postgres://h/d?sslpassword=***&table=t'],
    [
      'https://h/x?X-Amz-Credential=a&X-Amz-Signature=abc',
      'https://h/x?X-Amz-Credential=a&X-Amz-Signature=***',
    ],
    ['duckdb://a.db?motherduck_token=abc', 'duckdb://a.db?motherduck_token=***'],
    ['stdout://', 'stdout://'],
  ])('%s is told as %s', (uri, safe) => {
    expect(redactUri(uri)).toBe(safe);
  });

  it('never holds a password, whatever it is made of', () => {
    const password = fc.string({
      minLength: 1,
      maxLength: 12,
      unit: fc.constantFrom(...'aZ9@:/.-_~!$ *()+[]%'.split('')),
    });
    const place = fc.constantFrom('db.example:5432/shop', 'h/x?table=t', '10.0.0.1', '[::1]:99/d');
    fc.assert(
      fc.property(password, place, (secret, host) => {
        expect(redactUri(`postgres://user:CANARY${secret}CANARY@${host}`)).toBe(
          `postgres://${host}`,
        );
      }),
    );
  });

  it('never holds the value of a parameter that is secret by its name', () => {
    const name = fc.constantFrom(
      'password',
      'API-Key',
      'client_secret',
      'sig',
      'Access%20Token',
      'AccountKey',
      'X=1?token',
    );
    const before = fc.constantFrom(
      'https://h/x?',
      'https://h/x?a=b&',
      'mssql://h;d=e;',
      'https://h/x?a=b?',
      'https://h/x#',
    );
    const value = fc.string({ maxLength: 10, unit: fc.constantFrom(...'aZ9@:/?=#,%+'.split('')) });
    fc.assert(
      fc.property(before, name, value, (start, key, secret) => {
        expect(redactUri(`${start}${key}=${secret}CANARY&z=1`)).not.toContain('CANARY');
      }),
    );
  });
});

import { expect, it } from 'vitest';
import { isHttpUrl } from './http-url.ts';

it.each(['https://login.example.com/token', 'http://127.0.0.1:8080', 'HTTPS://Example.com'])(
  '%s is an address',
  (text) => {
    expect(isHttpUrl(text)).toBe(true);
  },
);

it.each(['', 'example.com/token', '/token', 'ftp://example.com', 'file:///etc/passwd', 'https://'])(
  '%j is not',
  (text) => {
    expect(isHttpUrl(text)).toBe(false);
  },
);

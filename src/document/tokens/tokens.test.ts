import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify, protectTokens, restoreEscapes, rewriteTokens, wholeToken } from './tokens.ts';

function rewrite(text: string, replace: (body: string) => string): string {
  const tooDeep = (): never => {
    throw new Error('too deep');
  };
  return restoreEscapes(rewriteTokens(text, { replace, tooDeep }));
}

/**
 * The grammar once more: a stack of tokens that are not ended. What is never ended stays as it is,
 * from the outermost one on.
 */
function readBySign(text: string): string {
  const open: { readonly start: number; body: string }[] = [{ start: 0, body: '' }];
  for (const { 0: sign, index } of text.matchAll(/\$\$\{|\$\{|[^]/g)) {
    const at = open.at(-1) as { body: string };
    if (sign === '${') open.push({ start: index, body: '' });
    else if (sign === '}' && open.length > 1) {
      open.pop();
      (open.at(-1) as { body: string }).body += `<${at.body}>`;
    } else at.body += sign === '$${' ? '${' : sign;
  }
  const [whole, unended] = open;
  return `${whole?.body}${unended === undefined ? '' : text.slice(unended.start)}`;
}

describe('replacing tokens', () => {
  test.each([
    ['a${x}b', 'a<x>b'],
    ['${x}${y}', '<x><y>'],
    ['$${x}', '${x}'],
    ['$$${x}', '$${x}'],
    ['$x {y} $', '$x {y} $'],
    ['${a${b}c}', '<a<b>c>'],
    ['${a$${b}', '<a${b>'],
    ['x ${open $${y}', 'x <open ${y>'],
    ['x ${open', 'x ${open'],
    ['$${x} ${open $${z', '${x} ${open $${z'],
    ['${}', '<>'],
    ['}{${x}}', '}{<x>}'],
  ])('%s', (text, expected) => {
    expect(rewrite(text, (body) => `<${body}>`)).toBe(expected);
  });

  test('what a token brings in is not read again', () => {
    expect(rewrite('${x}', () => protectTokens('${y}'))).toBe('${y}');
  });

  test('data that ends in a dollar begins no token and no escape with what follows', () => {
    const data = (body: string): string => (body === 'd' ? protectTokens('$') : `<${body}>`);
    expect(
      rewrite(rewriteTokens('${d}{x}', { replace: data, tooDeep: () => undefined }), data),
    ).toBe('${x}');
    expect(rewriteTokens('${d}${x}', { replace: data, tooDeep: () => undefined })).toBe(
      '$\u0000<x>',
    );
    expect(restoreEscapes(protectTokens('a$ $${b}$$'))).toBe('a$ $${b}$$');
  });

  test('pieces of text and tokens come back as they were put together', () => {
    const piece = fc.oneof(
      fc.stringMatching(/^[a-z ]{0,5}$/).map((text) => ({ source: text, result: text })),
      fc
        .stringMatching(/^[a-z.:]{0,5}$/)
        .map((body) => ({ source: `\${${body}}`, result: body.toUpperCase() })),
      fc
        .stringMatching(/^[a-z]{0,5}$/)
        .map((body) => ({ source: `$\${${body}}`, result: `\${${body}}` })),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.map((one) => one.source).join('');
        expect(rewrite(text, (body) => body.toUpperCase())).toBe(
          pieces.map((one) => one.result).join(''),
        );
      }),
    );
  });

  test('any text comes to what reading it sign by sign comes to', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[${}x]{0,30}$/), (text) => {
        expect(rewrite(text, (body) => `<${body}>`)).toBe(readBySign(text));
      }),
      { numRuns: 2000 },
    );
  });

  test('deep nesting is reported', () => {
    let depth = 0;
    rewriteTokens('${'.repeat(100_000) + '}', { replace: () => '', tooDeep: () => (depth += 1) });
    expect(depth).toBe(1);
  });
});

test('tokens are distinguished by their first separator, and `now.` comes before the colon', () => {
  expect(classify('env:A.b:c')).toEqual({ kind: 'directive', prefix: 'env', rest: 'A.b:c' });
  expect(classify('now.strftime.%H:%M')).toEqual({ kind: 'now', name: 'strftime.%H:%M' });
  expect(classify('users.address.city')).toEqual({
    kind: 'path',
    root: 'users',
    path: 'address.city',
  });
  expect(classify('users')).toEqual({ kind: 'path', root: 'users', path: '' });
  for (const body of ['bookmark', 'bookmark.id', 'job_id', 'next_token', 'window.start'])
    expect(classify(body)).toEqual({ kind: 'connector' });
  expect(classify('windows.start')).toEqual({ kind: 'path', root: 'windows', path: 'start' });
});

test('a token fills a text only when nothing stands beside it', () => {
  expect(wholeToken('${a.b}')).toBe('a.b');
  for (const text of [' ${a}', '${a} ', '${a}${b}', '$${a}', 'a', '${a'])
    expect(wholeToken(text)).toBeUndefined();
});

test('a value without escapes is not copied', () => {
  const value = { a: ['x', { b: '${c}' }] };
  expect(restoreEscapes(value)).toBe(value);
  expect(restoreEscapes({ a: [protectTokens('${c}')] })).toEqual({ a: ['${c}'] });
});

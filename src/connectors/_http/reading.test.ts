import * as fc from 'fast-check';
import { query } from 'jsonpath-rfc9535';
import { describe, expect, it } from 'vitest';
import { readBody } from './body.ts';
import { compilePath, isSingular, locate } from './json-path.ts';
import { joinUrl, nextLink, safeUrl, withQuery } from './url.ts';
import { elementsAt, parseXml } from '../../lib/xml/xml-document.ts';

const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.integer(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c d'), tie('value')),
  ),
})).value;
const step = fc.constantFrom('.a', '.b', "['c d']", '["a"]', '[*]', '.*');

describe('paths', () => {
  it('of names and wildcards mean the same as in the interpreter', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), value, (steps, document) => {
        const path = `$${steps.join('')}`;
        expect(compilePath(path)(document as never)).toEqual(query(document as never, path));
      }),
    );
  });

  it('know whether they can match more than one value', () => {
    for (const path of ['$', '$.a.b', "$['a b'][0]", '$.a[-1]'])
      expect(isSingular(path)).toBe(true);
    for (const path of ['$[*]', '$.a.*', '$..a', '$[?@.a]', '$[1:2]', '$[0,1]'])
      expect(isSingular(path)).toBe(false);
  });

  it('tell where their matches stand', () => {
    expect(locate({ "it's": [{ 'a"b': 1 }] }, '$[*][*][*]')).toEqual([
      { value: 1, steps: ["it's", 0, 'a"b'] },
    ]);
  });
});

describe('addresses', () => {
  it('are put together with one slash', () => {
    for (const [base, path] of [
      ['https://h/v1', 'a'],
      ['https://h/v1/', '/a'],
    ] as const) {
      expect(joinUrl(base, path)).toBe('https://h/v1/a');
    }
    expect(joinUrl('https://h/', '')).toBe('https://h');
    expect(joinUrl('https://h?k=1', '/a?b=2')).toBe('https://h/a?b=2&k=1');
    expect(joinUrl('https://h', 'https://other/x')).toBe('https://other/x');
  });

  it('replace a parameter that is set again, and repeat one with several values', () => {
    expect(
      withQuery('https://h/?a=1&b=2', [
        ['a', 'x'],
        ['a', 'y'],
      ]),
    ).toBe('https://h/?b=2&a=x&a=y');
  });

  it('are shown without login and secret-looking values', () => {
    expect(safeUrl('https://u:p@h:8443/a?access_token=abc&page=1&k=v', ['k'])).toBe(
      'https://h:8443/a?access_token=***&page=1&k=***',
    );
    expect(safeUrl('not an address?token=abc')).toBe('not an address');
  });
});

describe('the next link', () => {
  it('is found among others, quoted or not, in any case', () => {
    expect(
      nextLink('<https://h/?a=1,2>; rel="prev", <https://h/?a=3>; title="x, y"; REL="Next last"'),
    ).toBe('https://h/?a=3');
    expect(nextLink('</n>;rel=next')).toBe('/n');
    expect(nextLink('</n>; rel=nextish')).toBeUndefined();
    expect(nextLink(null)).toBeUndefined();
  });
});

describe('bodies', () => {
  it('are not read beyond the limit, with a declared length or without', async () => {
    await expect(readBody(new Response('x'.repeat(20)), 'http://h/', 10)).rejects.toThrow(
      /the response of http:\/\/h\/ is larger than/,
    );
    await expect(
      readBody(new Response('x', { headers: { 'content-length': '99' } }), 'http://h/', 10),
    ).rejects.toThrow(/larger/);
    expect(await readBody(new Response('x'.repeat(10)), 'http://h/', 10)).toHaveLength(10);
  });
});

describe('XML', () => {
  it('becomes JSON: attributes, text, repeats, empty elements', () => {
    expect(
      parseXml(
        '<?xml version="1.0"?><a x="1">hi<b/><b>2</b><c y="z"/> there &amp; <![CDATA[<raw>]]></a>',
        'it',
      ),
    ).toEqual({
      a: { '@x': '1', b: [null, '2'], c: { '@y': 'z' }, '#text': 'hi there & <raw>' },
    });
  });

  it('keeps texts that look like numbers as they are', () => {
    expect(parseXml('<a><n>007</n><n>1e3</n></a>', 'it')).toEqual({ a: { n: ['007', '1e3'] } });
  });

  it('finds elements by the end of their path, each repeat on its own', () => {
    const document = parseXml(
      '<s:r xmlns:s="s"><x><i>1</i><i>2</i></x><y><x><i>3</i></x></y></s:r>',
      'it',
    );
    expect(elementsAt(document, 'r.x.i')).toEqual(['1', '2']);
    expect(elementsAt(document, 'y.x.i')).toEqual(['3']);
    expect(elementsAt(document, 'none')).toEqual([]);
  });
});

import { documentText, withSourceText } from '../../lib/text/json-literal.ts';
import { createHash, createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { hideAllButLast } from './masking-actions.ts';
import { DETECT } from './masking-detectors.ts';
import { createMasker, createMaskingStage } from './masking.ts';
import { runStage, testContext } from '../../../test/support/stages.ts';

const BIG = 9_007_199_254_740_993n;

async function mask(
  block: JsonObject,
  record: JsonValue,
  context = testContext(),
): Promise<JsonValue | undefined> {
  const { records } = await runStage(createMaskingStage(maskingSchema.parse(block), context), [
    record,
  ]);
  return records[0];
}

const rule = (match: JsonObject, action: JsonObject, more: JsonObject = {}): JsonObject => ({
  match,
  action,
  ...more,
});
const redactFields = (...fields: string[]): JsonObject => ({
  rules: [rule({ fields }, { type: 'redact' })],
});

describe('matching', () => {
  it('takes exact dot-paths, list indexes included', async () => {
    const record = { contacts: [{ phone: 1 }, { phone: 2 }], phone: 3 };
    expect(await mask(redactFields('contacts.1.phone'), record)).toEqual({
      contacts: [{ phone: 1 }, { phone: '***' }],
      phone: 3,
    });
  });

  it('searches a pattern anywhere in the dot-path, telling case apart unless told not to', async () => {
    const find = (pattern: string) => ({
      rules: [rule({ field_pattern: pattern }, { type: 'redact' })],
    });
    expect(await mask(find('a.b'), { a: { bc: 1, C: 2 } })).toEqual({ a: { bc: '***', C: 2 } });
    expect(await mask(find('c$'), { a: { C: 2 } })).toEqual({ a: { C: 2 } });
    expect(await mask(find('(?i)c$'), { a: { C: 2 } })).toEqual({ a: { C: '***' } });
  });

  it('never matches the root by name', async () => {
    expect(await mask({ rules: [rule({ field_pattern: '.*' }, { type: 'redact' })] }, 'text')).toBe(
      'text',
    );
  });

  it('looks for kinds of text in strings only, wherever they are', async () => {
    const block = { rules: [rule({ value_detector: 'phone' }, { type: 'redact' })] };
    expect(await mask(block, { a: ['+1 (555) 010-0000', 15_550_100_000] })).toEqual({
      a: ['***', 15_550_100_000],
    });
    expect(await mask(block, '555.010.0000')).toBe('***');
  });

  it('lets the first rule win, by whichever of its criteria', async () => {
    const block = {
      rules: [
        rule({ value_detector: 'email', fields: ['name'] }, { type: 'redact', mask: 'first' }),
        rule({ field_pattern: 'mail|name' }, { type: 'redact', mask: 'second' }),
      ],
    };
    expect(await mask(block, { mail: 'a@b.io', mail2: 'none', name: 'x' })).toEqual({
      mail: 'first',
      mail2: 'second',
      name: 'first',
    });
  });

  it('masks the subtree of a container and looks no further into it', async () => {
    const block = {
      rules: [
        rule({ fields: ['user'] }, { type: 'partial', keep_last: 1 }),
        rule({ value_detector: 'email' }, { type: 'redact' }),
      ],
    };
    expect(
      await mask(block, { user: { id: 42, mail: 'a@b.io', on: true, none: null, tags: ['xy'] } }),
    ).toEqual({
      user: { id: '*2', mail: '*****o', on: '***e', none: null, tags: ['*y'] },
    });
    expect(await mask(redactFields('user'), { user: { id: 42 } })).toEqual({ user: '***' });
  });

  it('keeps to the sinks a rule is for, by preset name or connector type', async () => {
    const block = (name: string) => ({
      rules: [rule({ fields: ['a'] }, { type: 'redact' }, { applies_to: [name] })],
    });
    const sink = testContext({ preset: 'lake', type: 's3' });
    expect(await mask(block('lake'), { a: 1 }, sink)).toEqual({ a: '***' });
    expect(await mask(block('s3'), { a: 1 }, sink)).toEqual({ a: '***' });
    expect(await mask(block('default'), { a: 1 }, sink)).toEqual({ a: 1 });
  });
});

describe('actions', () => {
  it('redact replaces null too, and can write null', async () => {
    expect(await mask(redactFields('a'), { a: null })).toEqual({ a: '***' });
    expect(
      await mask({ rules: [rule({ fields: ['a'] }, { type: 'redact', mask: null })] }, { a: 1 }),
    ).toEqual({ a: null });
  });

  it('hash is SHA-256 of the text of a value, keyed when there is a key', async () => {
    const rules = [rule({ field_pattern: '.' }, { type: 'hash' })];
    const plain = (text: string) => createHash('sha256').update(text).digest('hex');
    const keyed = (text: string) => createHmac('sha256', 'k').update(text).digest('hex');
    expect(await mask({ rules }, { a: 'é', b: BIG, c: true, d: null })).toEqual({
      a: plain('é'),
      b: plain('9007199254740993'),
      c: plain('true'),
      d: null,
    });
    expect(await mask({ key: 'k', rules }, { a: 'x', b: 'x'.repeat(1000) })).toEqual({
      a: keyed('x'),
      b: keyed('x'.repeat(1000)),
    });
  });

  it('tokenize gives the same token for the same value and key, and another for another key', async () => {
    const rules = [rule({ fields: ['a', 'b'] }, { type: 'tokenize', prefix: 'tok_' })];
    const one = (await mask({ key: 'k1', rules }, { a: 'x', b: 'x' })) as { a: string; b: string };
    const two = (await mask({ key: 'k2', rules }, { a: 'x' })) as { a: string };
    expect(one.a).toMatch(/^tok_[0-9a-f]{16}$/);
    expect(one.b).toBe(one.a);
    expect(two.a).not.toBe(one.a);
  });

  it('partial keeps the last characters and the length, and hides short texts whole', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(12), (text, keep) => {
        const length = Array.from(text).length;
        const expected = Array.from(text).map((character, i) =>
          length > keep && i >= length - keep ? character : '#',
        );
        expect(hideAllButLast(text, keep, '#')).toBe(expected.join(''));
      }),
    );
  });

  it('leave the record they are given as it was', async () => {
    const record = { a: { b: ['a@b.io'] }, c: 1 };
    const masked = await mask(
      { rules: [rule({ value_detector: 'email' }, { type: 'redact' })] },
      record,
    );
    expect(masked).toEqual({ a: { b: ['***'] }, c: 1 });
    expect(record).toEqual({ a: { b: ['a@b.io'] }, c: 1 });
  });

  it('keep a field called `__proto__` a field', async () => {
    expect(
      stringifyJson(
        (await mask(redactFields('__proto__.x'), parseJson('{"__proto__":{"x":1}}'))) ?? null,
      ),
    ).toBe('{"__proto__":{"x":"***"}}');
  });
});

describe('the metric', () => {
  it('counts changed values by rule, action and detector, and by name when both match', async () => {
    const context = testContext();
    const block = {
      rules: [
        rule(
          { value_detector: 'email', fields: ['a', 'a2', 'n'] },
          { type: 'hash' },
          { name: 'mail' },
        ),
        rule({ fields: ['d'] }, { type: 'redact' }),
        rule({ fields: ['other'] }, { type: 'redact' }, { applies_to: ['elsewhere'] }),
      ],
    };
    await mask(
      block,
      { a: 'plain', a2: 'both@by.name', n: null, b: 'a@b.io', c: ['c@d.io'], d: 1, e: null },
      context,
    );
    expect(context.counts).toEqual(
      new Map([
        ['svc_masking_fields_total{pipeline=p,row=r,rule=mail,action=hash,detector=}', 2],
        ['svc_masking_fields_total{pipeline=p,row=r,rule=mail,action=hash,detector=email}', 2],
        ['svc_masking_fields_total{pipeline=p,row=r,rule=rule_1,action=redact,detector=}', 1],
      ]),
    );
  });
});

describe('detectors', () => {
  it.each<[keyof typeof DETECT, readonly string[], readonly string[]]>([
    [
      'email',
      ['a.b+c%d@x-y.example.ORG'],
      [
        'a@b',
        '@b.io',
        'a@b.i',
        'a@b@c.io',
        'a b@c.io',
        'a@b.io ',
        'mail a@b.io',
        'é@b.io',
        'a@b.i0',
      ],
    ],
    [
      'credit_card',
      [
        '4111111111111111',
        '5555555555554444',
        '4111 1111 1111 1111',
        '4111-1111-1111-1111',
        '378282246310005',
        '4222222222222',
      ],
      [
        '4111111111111112',
        '4111  1111 1111 1111',
        ' 4111111111111111',
        '4111111111111111-',
        '411111111111',
        '41111111111111110000',
      ],
    ],
    [
      'ssn',
      ['078-05-1120'],
      [
        '000-12-3456',
        '666-12-3456',
        '900-12-3456',
        '123-00-4567',
        '123-45-0000',
        '123456789',
        '123-45-67890',
      ],
    ],
    [
      'phone',
      ['+49 (30) 1234-567', '0301234567', '555.010.0000'],
      ['123456789', '1234567890123456', '12+34567890', '030 1234567x', ''],
    ],
    [
      'ipv4',
      ['0.0.0.0', '255.255.255.255', '10.1.20.3'],
      ['256.1.1.1', '01.1.1.1', '1.1.1', '1.1.1.1.', '1.1.1.1.1', '1.1.1.a'],
    ],
  ])('%s knows its kind', (name, yes, no) => {
    expect(yes.filter((text) => !DETECT[name](text))).toEqual([]);
    expect(no.filter((text) => DETECT[name](text))).toEqual([]);
  });
});

describe('documents that remember their text', () => {
  const masker = createMasker(
    [
      {
        label: 'mail',
        rule: {
          match: { value_detector: 'email' },
          action: { type: 'redact', mask: '***' },
          applies_to: [],
        },
      },
    ],
    undefined,
  );
  const masked = (text: string): string => {
    const value = withSourceText(JSON.parse(text) as JsonValue, text);
    return documentText((masker.record({ j: value }, () => {}) as JsonObject)['j'] ?? null);
  };

  it('are masked by their value, and what the value does not show goes away', () => {
    expect(masked('"\\u0061@b.io"')).toBe('"***"');
    expect(masked('{"a": "a@b.io"}')).toBe('{"a":"***"}');
    expect(masked('{"a": "a@b.io", "a": 1}')).toBe('{"a":1}');
    expect(masked('{"a": 1.0}')).toBe('{"a": 1.0}');
  });
});

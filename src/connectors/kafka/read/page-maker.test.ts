import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { RECORDS_LANE, type Lane } from '../../../kit/page.ts';
import { decoderOf } from '../formats/decode.ts';
import type { LogMessage } from './log-reader.ts';
import { pageMakerOf, type Formats } from './page-maker.ts';
import { recordOf } from './record.ts';

const LINES: Lane = { form: 'bytes', encoding: JSON_LINES.name };
const TEXT: Formats = { value_format: { type: 'json' }, key_format: undefined };
const JSON_KEYS: Formats = { value_format: { type: 'json' }, key_format: { type: 'json' } };

function message(value: string | null, more: Partial<LogMessage> = {}): LogMessage {
  return {
    topic: 'orders',
    partition: 3,
    offset: 12n,
    timestamp: 1_700_000_000_000,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: [],
    ...more,
  };
}

/** The page in the lane, as lines; `passed` counts the messages that were not read. */
function linesOf(lane: Lane, messages: readonly LogMessage[], formats: Formats) {
  const decoders = {
    key: decoderOf(formats.key_format, undefined),
    value: decoderOf(formats.value_format, undefined),
  };
  const maker = pageMakerOf(lane, formats);
  let passed = 0;
  for (const one of messages) {
    const passes = maker.passes(one);
    if (passes) passed += 1;
    const record = passes ? undefined : recordOf(one, decoders);
    if (record instanceof Promise) throw new Error('cannot happen: there is no registry');
    maker.add(one, record);
  }
  const page = maker.take({ bytes: 0 });
  return { text: Buffer.from(page.block(JSON_LINES)).toString(), passed, count: page.count };
}

describe('pages of messages', () => {
  const various = [
    message('{"id":1,"name":"Novák"}'),
    message('{"id": 1}'),
    message('{"a":1.10,"a":2}'),
    message('1e5'),
    message('"a text"', { key: Buffer.from('k-1') }),
    message('[1,2]', { key: Buffer.from('a "key"') }),
    message('true', { key: Buffer.from([0xff]) }),
    message(null, { key: Buffer.from(''), offset: 2n ** 60n }),
    message('{}', { topic: 'a "topic"', partition: 0, timestamp: 0 }),
    message('{}', { headers: [[Buffer.from('trace'), Buffer.from('1')]] }),
  ];

  it('are the same lines whether messages are read or pass as they are', () => {
    const plain = linesOf(RECORDS_LANE, various, TEXT);
    const fast = linesOf(LINES, various, TEXT);
    expect(fast.text).toBe(plain.text);
    expect(plain.passed).toBe(0);
    expect(fast).toMatchObject({ passed: 4, count: various.length });
  });

  it('have keys that are JSON as they are', () => {
    const keyed = [
      message('1', { key: Buffer.from('{"id":1}') }),
      message('1', { key: Buffer.from('{ "id": 1 }') }),
      message('1'),
    ];
    const fast = linesOf(LINES, keyed, JSON_KEYS);
    expect(fast.text).toBe(linesOf(RECORDS_LANE, keyed, JSON_KEYS).text);
    expect(fast.passed).toBe(2);
  });

  it('are the same lines for any JSON', () => {
    const one = fc.record({
      value: fc.json(),
      key: fc.option(fc.string()),
      offset: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 5 }), (some) => {
        const messages = some.map(({ value, key, offset }) =>
          message(value, { offset, key: key === null ? null : Buffer.from(key) }),
        );
        expect(linesOf(LINES, messages, TEXT).text).toBe(
          linesOf(RECORDS_LANE, messages, TEXT).text,
        );
      }),
    );
  });

  it('leave a page alone until it is released', () => {
    const maker = pageMakerOf(LINES, TEXT);
    const pageWith = (value: string) => {
      maker.add(message(value), undefined);
      return maker.take({ bytes: 0 });
    };
    const first = pageWith('"first"');
    const text = Buffer.from(first.block(JSON_LINES)).toString();
    pageWith('"second"');
    pageWith('"third"');
    expect(Buffer.from(first.block(JSON_LINES)).toString()).toBe(text);
  });

  it.each([
    ['texts', { value_format: { type: 'raw_string' }, key_format: undefined }],
    ['keys in base64', { value_format: { type: 'json' }, key_format: { type: 'bytes' } }],
  ] as const)('are records where messages hold %s', (_what, formats) => {
    expect(linesOf(LINES, [message('{}')], formats).passed).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import { issuesOf } from '../../../test/fakes/run-source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { natsSink, natsSource } from './index.ts';
import { isPattern, isSubject, overlap } from './subjects.ts';

describe('a config of nats', () => {
  const paths = (config: JsonObject) => issuesOf(natsSource, config).map(({ path }) => path);
  const uri = (config: JsonObject): string => {
    const checked = check(natsSource.config, { subject: 'a.>', max_messages: 1, ...config });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return natsSource.datasetUri(checked.value);
  };

  it('needs an end, and both names of a consumer', () => {
    expect(paths({ subject: 'a' })).toEqual(['idle_timeout_secs']);
    expect(paths({ subject: 'a', max_messages: 1, jetstream_stream: 'S' })).toEqual([
      'jetstream_consumer',
    ]);
    expect(paths({ subject: 'a', max_messages: 1, jetstream_consumer: 'c' })).toEqual([
      'jetstream_stream',
    ]);
    const both = { jetstream_stream: 'S', jetstream_consumer: 'c' };
    expect(paths({ subject: 'a', max_messages: '5', ...both })).toEqual([]);
    expect(paths({ subject: 'a', max_messages: 1, ...both, queue_group: 'g' })).toEqual([
      'queue_group',
    ]);
  });

  it('takes addresses as a list or a text, and tells them without a login', () => {
    expect(uri({})).toBe('nats://127.0.0.1:4222?subject=a.>');
    expect(uri({ servers: 'nats://me:pw@one:4333, two' })).toBe('nats://one:4333?subject=a.>');
    expect(uri({ servers: ['[::1]'] })).toBe('nats://[::1]:4222?subject=a.>');
    expect(paths({ subject: 'a', max_messages: 1, servers: ['http://x', 'nats://y/z'] })).toEqual([
      'servers[0]',
      'servers[1]',
    ]);
  });

  it('publishes to no pattern, and says where a subject comes from', () => {
    expect(issuesOf(natsSource, { subject: 'a..b', max_messages: 1 })).toHaveLength(1);
    expect(check(natsSink.config, { subject: 'a.*' }).ok).toBe(false);
    const checked = check(natsSink.config, { subject: 'a', subject_field: 'to' });
    expect(checked.ok && natsSink.datasetUri(checked.value)).toBe(
      'nats://127.0.0.1:4222?subject=(from_field:to)',
    );
  });
});

it('subjects and patterns are told apart', () => {
  expect(['a', 'a.b-c.$D', 'a.*', 'a.>', 'a b', '', 'a.', 'a*'].map(isSubject)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(['a', '*.b', 'a.>', '>', '>.a', 'a*', 'a..b'].map(isPattern)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('patterns overlap where one subject is of both', () => {
  const pairs = [
    ['a.b', 'a.b', true],
    ['a.*', 'a.b', true],
    ['a.*', '*.b', true],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['a.*', 'a.b.c', false],
    ['a.b', 'a.c', false],
    ['>', 'x', true],
  ] as const;
  for (const [one, other, wanted] of pairs) {
    expect([one, other, overlap(one, other)]).toEqual([one, other, wanted]);
    expect(overlap(other, one)).toBe(wanted);
  }
});

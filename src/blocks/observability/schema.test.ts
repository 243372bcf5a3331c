import { describe, expect, it } from 'vitest';
import { check } from '../../kit/schema.ts';
import { observabilitySchema } from './schema.ts';

function reported(given: object): string[] {
  const result = check(observabilitySchema, given);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
}

describe('headers of an export', () => {
  const sent = (headers: Record<string, string>, protocol = 'grpc') =>
    reported({ otel: { headers, protocol } });

  it('are those that can be sent, and are reported without their values', () => {
    expect([
      sent({ 'x-key': 'k 1', Authorization: 'Bearer t' }),
      sent({ 'x-key': 'schlüssel', 'x-bin': 'b' }, 'http'),
    ]).toEqual([[], []]);
    for (const protocol of ['grpc', 'http']) {
      expect(sent({ 'a key': 'canary' }, protocol)).toEqual([
        'otel.headers["a key"]: "a key" is not a header that can be sent',
      ]);
      expect(sent({ 'x-key': 'canary\nb' }, protocol)).toEqual([
        'otel.headers.x-key: "x-key" is not a header that can be sent',
      ]);
    }
  });

  it.each([
    ['x-key', 'canary-ü'],
    ['x-bin', 'canary'],
    ['x!', 'canary'],
  ])('are narrower for gRPC: %s', (name, value) => {
    const [fault, ...more] = sent({ [name]: value });
    expect(fault).toContain('is not metadata of gRPC that can be sent as text');
    expect([fault?.includes('canary'), more]).toEqual([false, []]);
  });
});

it('buckets of histograms grow', () => {
  const buckets = (...bounds: number[]) =>
    reported({ prometheus: { listen: '127.0.0.1:0', buckets: bounds } });
  expect(buckets(0.1, 1, 10)).toEqual([]);
  expect(buckets(5, 1)).toEqual(['prometheus.buckets[1]: must be larger than the bound before']);
  expect(buckets(1, 2, 2)).toEqual(['prometheus.buckets[2]: must be larger than the bound before']);
});

it('times are such that a timer can wait for them', () => {
  expect(reported({ otel: { timeout_secs: 100_000_000 } })).toHaveLength(1);
  expect(reported({ otel: { metric_interval_secs: 100_000_000 } })).toHaveLength(1);
});

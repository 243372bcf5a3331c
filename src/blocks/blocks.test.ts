import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jsonSchemaOf, type JsonSchema } from '../kit/json-schema.ts';
import { check } from '../kit/schema.ts';
import { DESCRIBED_BLOCKS } from './index.ts';
import {
  breakerPolicyOf,
  poisonPolicyOf,
  resilienceSchema,
  retryPolicyOf,
} from './resilience/schema.ts';

describe.each(DESCRIBED_BLOCKS.map((block) => [block.name, block] as const))(
  '%s',
  (_name, block) => {
    test.each(block.examples.map((example, index) => [index, example] as const))(
      'example %i is accepted',
      (_index, example) => {
        expect(check(block.schema, example)).toMatchObject({ ok: true });
      },
    );

    test('describes every field', () => {
      expect(undescribed(jsonSchemaOf(block.schema), block.name)).toEqual([]);
    });
  },
);

function undescribed(schema: JsonSchema, path: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => [
    ...(hasDescription(field) ? [] : [`${path}.${key}`]),
    ...undescribed(field, `${path}.${key}`),
  ]);
  const inner = [schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(
    (one) => one !== undefined,
  );
  return [...own, ...inner.flatMap((one) => undescribed(one, `${path}[]`))];
}

function hasDescription(schema: JsonSchema): boolean {
  return (
    typeof schema['description'] === 'string' ||
    [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].some(hasDescription)
  );
}

test('a field set to null counts as absent', () => {
  const all = (schema: (typeof DESCRIBED_BLOCKS)[number]['schema'], keys: readonly string[]) =>
    check(schema, Object.fromEntries(keys.map((key) => [key, null])));
  const block = (name: string) =>
    DESCRIBED_BLOCKS.find((one) => one.name === name)?.schema ?? resilienceSchema;
  expect(all(block('execution'), ['max_concurrent', 'on_error', 'schedule'])).toEqual({
    ok: true,
    value: { on_error: 'continue', schedule: 'declared' },
  });
  expect(all(block('selection'), ['include_parents'])).toEqual({
    ok: true,
    value: { include_parents: 'off' },
  });
  expect(all(block('resilience'), ['retry', 'retry_on'])).toEqual({ ok: true, value: {} });
});

test('blocks stand in order and once', () => {
  const names = DESCRIBED_BLOCKS.map((block) => block.name);
  expect(names).toEqual([...new Set(names)].sort());
});

describe('the retry policy', () => {
  const policy = (spec: unknown) => retryPolicyOf(resilienceSchema.parse(spec));

  test('is absent unless it is asked for', () => {
    expect(policy({})).toBeUndefined();
  });

  test('has the defaults of the specification (spec 2.12)', () => {
    const defaults = {
      maxAttempts: 5,
      backoff: 'exponential',
      baseMs: 200,
      maxMs: 30_000,
      jitter: true,
    };
    expect(policy({ retry: {} })).toEqual({
      ...defaults,
      on: ['http_5xx', 'rate_limited', 'connection', 'timeout'],
    });
    expect(policy({ retry_on: ['timeout', 'timeout'] })).toEqual({ ...defaults, on: ['timeout'] });
  });

  test('zero attempts mean one', () => {
    expect(policy({ retry: { max_attempts: 0 } })?.maxAttempts).toBe(1);
  });
});

describe('circuit breaker and poison (spec 2.12)', () => {
  test('are absent unless they are asked for', () => {
    const spec = resilienceSchema.parse({ retry: {} });
    expect([breakerPolicyOf(spec), poisonPolicyOf(spec)]).toEqual([undefined, undefined]);
  });

  test('poison repeats what `retry_on` names, and waits as `retry` says', () => {
    const spec = resilienceSchema.parse({
      retry: { base_ms: 7 },
      retry_on: ['timeout'],
      poison: { max_row_attempts: 2 },
    });
    expect(poisonPolicyOf(spec)).toMatchObject({
      maxRowAttempts: 2,
      action: 'dlq',
      baseMs: 7,
      on: ['timeout'],
    });
    expect(poisonPolicyOf(resilienceSchema.parse({ poison: {} }))).toMatchObject({
      baseMs: 200,
      backoff: 'exponential',
    });
  });

  test('counts start at one', () => {
    for (const spec of [
      { poison: { max_row_attempts: 0 } },
      { circuit_breaker: { consecutive_failures: 0 } },
      { retry_on: [] },
    ]) {
      expect(check(resilienceSchema, spec)).toMatchObject({
        ok: false,
        issues: [{ code: 'out_of_range' }],
      });
    }
  });
});

test('the plan knows blocks by their definitions, and names only those it asks something of', () => {
  const files = globSync('../plan/**/*.ts', { cwd: import.meta.dirname });
  const named = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8');
      return [...text.matchAll(/\/blocks\/([\w-]+)\//g)].map(
        ([, block]) => `${file.slice('../plan/'.length)}: ${block}`,
      );
    });
  expect(named.sort()).toEqual([
    'plan-document.ts: resilience',
    'plan-document.ts: selection',
    // Nodes before the sinks of a graph share the queue of the document.
    'plan-topology.ts: dlq',
    'plan-topology.ts: dlq',
    'plan-topology.ts: state',
    'plan.ts: dlq',
    'select.ts: selection',
  ]);
});

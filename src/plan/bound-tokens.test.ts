import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineSource } from '../kit/source.ts';
import { resolvePart } from './resolve.ts';

const source = defineSource({
  type: 'bound',
  description: 'a source that binds',
  config: z.strictObject({ query: z.string(), schema: z.string() }),
  boundKeys: ['query'],
  examples: [],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: () => 'bound://x',
  open: () => Promise.reject(new Error('not opened here')),
});

describe('a source that binds parent values itself', () => {
  it('gets the tokens of its bound keys as they are, and all others filled in', () => {
    const config = {
      query: "select ${users.id}, '${now.date}' from t",
      schema: 'tenant_${users.id}',
    };
    const part = {
      path: 'pipeline.source',
      type: 'bound',
      preset: 'default',
      definition: source,
      config,
      deferred: true,
      parsed: undefined,
    };
    const records = new Map([['users', { id: "1' or 1=1" }]]);
    const resolved = resolvePart(part, {
      now: { date: new Date('2026-01-31T00:00:00Z'), zone: 'UTC' },
      records,
    });
    expect(resolved).toEqual({
      query: "select ${users.id}, '2026-01-31' from t",
      schema: "tenant_1' or 1=1",
    });
  });
});

import { assert, expect, test } from 'vitest';
import { z } from 'zod';
import { testEnv } from '../../../test/fakes/env.ts';
import { check } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { TRANSFORMS } from '../../transforms/index.ts';
import { compileTransforms } from './compile-transforms.ts';

test('transforms that were compiled are closed when a later one fails', async () => {
  const log: string[] = [];
  const transform = (name: string, fails: boolean) => ({
    type: name,
    config: {},
    definition: defineTransform({
      type: name,
      description: name,
      config: z.any(),
      examples: [],
      columns: () => ({ kind: 'opaque' as const }),
      reads: () => ({ kind: 'record' as const }),
      compile: async () => {
        if (fails) throw new Error(`${name} does not compile`);
        return {
          kind: 'page' as const,
          apply: async (records: readonly JsonValue[]) => [...records],
          close: async () => void log.push(name),
        };
      },
    }),
  });
  const chain = compileTransforms([transform('one', false), transform('two', true)], testEnv());
  await expect(chain).rejects.toThrow('two does not compile');
  expect(log).toEqual(['one']);
});

test('settings that do not compile are told by their place in the document', async () => {
  const sql = TRANSFORMS.find(({ type }) => type === 'sql');
  assert(sql !== undefined);
  const path = 'pipeline.transforms[0]';
  const config = check(sql.config, { query: 'selec 1' });
  assert(config.ok);
  const broken = { type: 'sql', path, definition: sql, config: config.value };
  await expect(compileTransforms([broken], testEnv())).rejects.toMatchObject({
    issues: [{ path: 'pipeline.transforms[0].config.query' }],
  });
});

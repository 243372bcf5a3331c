/** A kind of trigger that nothing else knows: its definition and its line in the list are all. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadOptions, refusalOf } from '../../test/fakes/documents.ts';
import { FAKE_PARTS } from '../../test/fakes/parts.ts';
import { checkTriggers } from '../features/triggers/check-triggers.ts';
import { triggerFileSchema } from '../features/triggers/trigger-file.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';
import { check, text } from '../kit/schema.ts';
import { defineTrigger } from '../kit/trigger.ts';
import { TRIGGERS } from './index.ts';

const doorbell = defineTrigger<{ readonly door: string }>({
  type: 'doorbell',
  description: 'Somebody at the door.',
  fields: () => z.strictObject({ door: text().meta({ description: 'Which door.' }) }),
  examples: [{ door: 'front' }],
  tokens: ({ door }) => [{ name: 'door', example: door, inRunName: true }],
  starts: ({ door }, name) => `${name}: a ring at the ${door} door`,
  secrets: () => [],
  events: {
    by: 'request',
    open: () => ({
      debounceMs: 0,
      needsNoToken: false,
      receive: () => ({ key: 'ring', labels: {}, value: () => 'front' }),
    }),
  },
});

const definitions = [...TRIGGERS, doorbell];
const checked = (entry: string, path = 'x') =>
  checkTriggers('/work/triggers.yaml', {
    definitions,
    parts: FAKE_PARTS,
    cpus: 2,
    reading: {
      ...loadOptions(),
      readFile: () =>
        new TextEncoder().encode(
          `{version: 1, triggers: [{name: bell, type: doorbell, ${entry}, config: {version: 1, pipeline: {source: {type: lines, config: {path: '${path}'}}, sink: {type: nowhere}}}}]}`,
        ),
    },
  });

test('is read by its fields, which are in the schema of the file', () => {
  const [trigger] = checked('door: back').triggers;
  expect(trigger?.definition.starts(trigger.config, trigger.name)).toBe(
    'bell: a ring at the back door',
  );
  expect(
    refusalOf(() => checked('window: 1')).issues.map(({ code, path }) => [code, path]),
  ).toEqual([
    ['missing_key', 'triggers[0].door'],
    ['unknown_key', 'triggers[0].window'],
  ]);
  expect(JSON.stringify(jsonSchemaOf(triggerFileSchema(definitions)))).toContain('Which door.');
});

test('fills in its own tokens, and no others', () => {
  expect(checked('door: back, run: {name: "{door}"}', 'in-${trigger.door}').triggers).toHaveLength(
    1,
  );
  expect(refusalOf(() => checked('door: back', 'in-${trigger.body}')).issues).toMatchObject([
    { code: 'unknown_token', path: 'triggers[0].config.pipeline.source.config.path' },
  ]);
});

describe.each(TRIGGERS.map((definition) => [definition.type, definition] as const))(
  'the kind %s',
  (_type, definition) => {
    test.each(definition.examples.map((example, index) => [index, example] as const))(
      'parses example %i, and says when it starts a run and what that can fill in',
      (_index, example) => {
        const result = check(definition.fields(), example);
        if (!result.ok) throw new Error(result.issues[0]?.message);
        expect(definition.starts(result.value, 'orders')).not.toBe('');
        const names = definition.tokens(result.value).map(({ name }) => name);
        expect(names.length).toBe(new Set(names).size);
        expect(names).not.toContain('name');
      },
    );

    test('describes every field', () => {
      const { properties = {} } = jsonSchemaOf(definition.fields());
      for (const field of Object.values(properties)) expect(field).toHaveProperty('description');
    });
  },
);

import { describe, expect, it } from 'vitest';
import { testEnv } from '../../test/fakes/env.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';
import { stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { TRANSFORMS } from './index.ts';
import { issuesOf, runTransform } from '../../test/support/transforms.ts';

describe('the transforms', () => {
  it('are listed in order and once each', () => {
    const types = TRANSFORMS.map((definition) => definition.type);
    expect(types).toEqual([...new Set(types)].sort());
  });

  for (const definition of TRANSFORMS) {
    describe(definition.type, () => {
      it('has examples', () => expect(definition.examples.length).toBeGreaterThan(0));

      for (const [i, example] of definition.examples.entries()) {
        it(`does what example ${i + 1} says, key by key in that order`, async () => {
          const output = await runTransform(definition, example.config, example.input);
          expect(output.map((record) => stringifyJson(record))).toEqual(
            example.output.map((record) => stringifyJson(record)),
          );
        });
      }

      it('offers to work on columns when the plan is told so, and only then', async () => {
        for (const example of definition.examples) {
          const config = checkedConfig(definition.config, example.config);
          const compiled = await definition.compile(config, { env: testEnv() });
          expect(compiled.kind === 'record' && compiled.onColumns !== undefined).toBe(
            definition.worksOnColumns?.(config) === true,
          );
          await compiled.close?.();
        }
      });

      it('refuses a key it does not know', () => {
        const config = { ...definition.examples[0]?.config, no_such_key: 1 };
        expect(issuesOf(definition, config)).toContainEqual(
          expect.objectContaining({ code: 'unknown_key', path: 'no_such_key' }),
        );
      });

      it('describes every field of its config', () => {
        const properties = Object.entries(jsonSchemaOf(definition.config).properties ?? {});
        expect(properties.length).toBeGreaterThan(0);
        expect(
          properties
            .filter(([, field]) => typeof field['description'] !== 'string')
            .map(([name]) => name),
        ).toEqual([]);
      });

      it('lets the config of its examples say what it reads and what becomes of columns', () => {
        for (const example of definition.examples) {
          expect(['fields', 'record']).toContain(
            definition.reads(checkedConfig(definition.config, example.config)).kind,
          );
          expect(
            definition.columns(checkedConfig(definition.config, example.config)).kind,
          ).toBeTypeOf('string');
        }
      });
    });
  }
});

function checkedConfig(schema: (typeof TRANSFORMS)[number]['config'], config: JsonValue): unknown {
  return schema.parse(config);
}

/** What every definition owes its readers, whatever it defines. */
import assert from 'node:assert/strict';
import type { ZodType } from 'zod';
import { jsonSchemaOf, type JsonSchema } from '../kit/json-schema.ts';
import { check } from '../kit/schema.ts';

export interface AnyDefinition {
  readonly type: string;
  readonly description: string;
  readonly config: ZodType;
  readonly examples: readonly unknown[];
}

export interface DefinitionClause {
  readonly name: string;
  /** The second half of a sentence that starts with the name of the part. */
  readonly title: string;
  /** Throws when the definition does not keep it. */
  check(definition: AnyDefinition): void;
}

const named: DefinitionClause = {
  name: 'name',
  title: 'has a name documents can use and a one-line description',
  check({ type, description }) {
    assert.match(type, /^[a-z][a-z0-9_-]*$/, 'the name');
    assert.ok(description.trim() !== '', 'it has no description');
    assert.ok(!description.includes('\n'), 'its description has several lines');
  },
};

const published: DefinitionClause = {
  name: 'schema',
  title: 'publishes a JSON Schema that survives serialisation, with every field described',
  check({ type, config }) {
    const schema = jsonSchemaOf(config);
    assert.deepEqual(JSON.parse(JSON.stringify(schema)), schema);
    assert.deepEqual(undescribed(schema, type), [], 'fields without a description');
  },
};

const strict: DefinitionClause = {
  name: 'unknown-key',
  title: 'refuses a key it does not know, by name and with its place',
  check({ config, examples: [example] }) {
    const given = typeof example === 'object' && example !== null ? example : {};
    const checked = check(config, { ...given, no_such_key_here: 1 }, 'pipeline.x.config');
    const issues = checked.ok ? [] : checked.issues;
    const path = 'pipeline.x.config.no_such_key_here';
    assert.ok(
      issues.some((issue) => issue.code === 'unknown_key' && issue.path === path),
      'an unknown key is accepted: use `z.strictObject`',
    );
  },
};

const exemplified: DefinitionClause = {
  name: 'examples',
  title: 'reads its own examples',
  check({ config, examples }) {
    assert.ok(examples.length > 0, 'it has no examples');
    for (const [index, example] of examples.entries()) {
      const checked = check(config, example);
      if (!checked.ok) assert.fail(`example ${index}: ${JSON.stringify(checked.issues)}`);
    }
  },
};

export const DEFINITION_CLAUSES: readonly DefinitionClause[] = [
  named,
  published,
  strict,
  exemplified,
];

/** Paths of fields without a description. */
function undescribed(schema: JsonSchema, path: string): string[] {
  const missing: string[] = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const here = `${path}.${name}`;
    const isTag = 'const' in field;
    if (typeof field['description'] !== 'string' && !isTag) missing.push(here);
    missing.push(...undescribed(field, here));
  }
  for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    missing.push(...undescribed(inner, path));
  if (schema.items !== undefined) missing.push(...undescribed(schema.items, `${path}[]`));
  return missing;
}

/** What every definition owes its readers, whatever it defines. */
import { expect, it } from 'vitest';
import type { ZodType } from 'zod';
import { check, jsonSchemaOf, type JsonSchema } from '../../src/kit/schema.ts';

export interface AnyDefinition {
  readonly type: string;
  readonly description: string;
  readonly config: ZodType;
  readonly examples: readonly unknown[];
}

export function itIsWellDefined(definition: AnyDefinition): void {
  it('has a name documents can use and a one-line description', () => {
    expect(definition.type).toMatch(/^[a-z][a-z0-9_-]*$/);
    expect(definition.description.trim()).not.toBe('');
    expect(definition.description).not.toContain('\n');
  });

  it('publishes a JSON Schema that survives serialisation, with every field described', () => {
    const schema = jsonSchemaOf(definition.config);
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(undescribed(schema, definition.type)).toEqual([]);
  });

  it('refuses a key it does not know, by name and with its place', () => {
    const [example] = definition.examples;
    const value = typeof example === 'object' && example !== null ? example : {};
    const checked = check(
      definition.config,
      { ...value, no_such_key_here: 1 },
      'pipeline.x.config',
    );
    expect(checked.ok).toBe(false);
    if (checked.ok) return;
    expect(checked.issues).toContainEqual(
      expect.objectContaining({ code: 'unknown_key', path: 'pipeline.x.config.no_such_key_here' }),
    );
  });

  it('reads its own examples', () => {
    expect(definition.examples.length).toBeGreaterThan(0);
    for (const example of definition.examples)
      expect(check(definition.config, example)).toMatchObject({ ok: true });
  });
}

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

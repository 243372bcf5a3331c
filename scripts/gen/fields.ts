/** Field tables of the reference pages, from the JSON Schema that is also published. */
import type { JsonSchema } from '../../src/kit/json-schema.ts';

export interface FieldRow {
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly fallback: string;
  readonly description: string;
}

/**
 * One row a field, nested objects after their parent as `parent.child`, list entries as
 * `parent[].child`, entries of a map as `parent.<name>.child`.
 */
export function fieldRows(schema: JsonSchema, prefix = '', depth = 0): FieldRow[] {
  const required = new Set((schema['required'] as readonly string[] | undefined) ?? []);
  const rows: FieldRow[] = [];
  for (const [name, field] of Object.entries(propertiesOf(schema))) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    rows.push({
      path,
      type: typeText(field),
      required: required.has(name) && field['default'] === undefined,
      fallback: field['default'] === undefined ? '' : `\`${JSON.stringify(field['default'])}\``,
      description: typeof field['description'] === 'string' ? field['description'] : '',
    });
    if (depth < 4) rows.push(...nested(field, path, depth));
  }
  return rows;
}

/**
 * The fields of a value that stands under `name`: of each entry where it is a list or a map, or
 * what the value itself may be.
 */
export function valueTable(name: string, schema: JsonSchema): string {
  return fieldTable(
    schema.properties === undefined && schema.allOf === undefined
      ? { type: 'object', properties: { [name]: schema } }
      : schema,
  );
}

export function fieldTable(schema: JsonSchema): string {
  const rows = fieldRows(schema);
  if (rows.length === 0) return 'It takes no settings.\n';
  const lines = rows.map(
    (row) =>
      `| \`${row.path}\` | ${row.type} | ${row.required ? 'required' : row.fallback} | ${cell(row.description)} |`,
  );
  return ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...lines, ''].join(
    '\n',
  );
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  const own = schema.properties ?? {};
  const merged: Record<string, JsonSchema> = { ...own };
  for (const part of schema.allOf ?? []) Object.assign(merged, propertiesOf(part));
  return merged;
}

function nested(field: JsonSchema, path: string, depth: number): FieldRow[] {
  if (field.properties !== undefined) return fieldRows(field, path, depth + 1);
  if (field.items !== undefined && !Array.isArray(field.items))
    return nested(field.items, `${path}[]`, depth);
  if (typeof field.additionalProperties === 'object')
    return nested(field.additionalProperties, `${path}.<name>`, depth);
  const variants = [...(field.oneOf ?? []), ...(field.anyOf ?? [])];
  const rows = variants.flatMap((one) => nested(one, `${path}${tagOf(one)}`, depth));
  return rows.filter((row, index) => rows.findIndex((other) => other.path === row.path) === index);
}

/** `(bearer)` for a variant chosen by its `type` or `mode`. */
function tagOf(variant: JsonSchema): string {
  const tag = variant.properties?.['type'] ?? variant.properties?.['mode'];
  return typeof tag?.['const'] === 'string' ? `(${tag['const']})` : '';
}

function typeText(field: JsonSchema): string {
  if (field['const'] !== undefined) return `\`${JSON.stringify(field['const'])}\``;
  if (Array.isArray(field['enum']))
    return field['enum'].map((value) => `\`${String(value)}\``).join(', ');
  const variants = [...(field.oneOf ?? []), ...(field.anyOf ?? [])];
  if (variants.length > 0) return [...new Set(variants.map(typeText))].join(' or ');
  // Numbers and booleans may also be written as text; saying so at each of them would only hide the
  // type.
  if (Array.isArray(field['type'])) return String(field['type'][0]);
  if (field['type'] === 'array')
    return field.items === undefined ? 'list' : `list of ${typeText(field.items)}`;
  if (field['type'] === 'object')
    return typeof field.additionalProperties === 'object' ? 'map' : 'mapping';
  return typeof field['type'] === 'string' ? field['type'] : 'any';
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}

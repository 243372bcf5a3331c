import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { isContainer } from '../../lib/text/json-literal.ts';
import { keepSpelling, moveSpelling } from '../../lib/text/number-spelling.ts';
import { fieldOf, UNKNOWN_SCHEMA, withField, type RecordSchema } from '../../kit/record-schema.ts';
import { boolean, finding, integer, text } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';

const schema = z.lazy(() =>
  z.strictObject({
    arrays: z
      .array(text())
      .min(2)
      .superRefine((names, ctx) => {
        const twice = names.findIndex((name, i) => names.indexOf(name) < i);
        if (twice !== -1)
          ctx.addIssue(
            finding('invalid_value', `\`${names[twice]}\` is listed twice`, { path: [twice] }),
          );
      })
      .meta({
        description:
          'At least two top-level fields with lists; a field without a list counts as an empty one.',
      }),
    prefix: boolean()
      .default(false)
      .meta({ description: 'Whether fields of elements are called `list_field`.' }),
    keep_parent: boolean()
      .default(true)
      .meta({ description: 'Whether every output repeats the other fields of the record.' }),
    on_empty: z.enum(['skip', 'one_row']).default('skip').meta({
      description:
        'With an empty list the record gives nothing (`skip`), or the list counts as one null (`one_row`).',
    }),
    drop_arrays: boolean()
      .default(true)
      .meta({ description: 'Whether the lists themselves are removed.' }),
    max_product: integer({ min: 1 })
      .default(10_000)
      .meta({ description: 'Most records one record may become; more fail the run.' }),
  }),
);

type CrossJoinConfig = z.infer<typeof schema>;

export const crossJoin = defineTransform<CrossJoinConfig>({
  type: 'cross_join',
  description:
    'Makes a record of every combination of the elements of several lists. Where names clash the later list wins.',
  config: schema,
  examples: [
    {
      config: { arrays: ['sizes', 'colors'] },
      input: [
        { id: 1, sizes: ['s', 'm'], colors: [{ color: 'red', rgb: 1 }, { color: 'blue' }] },
        { id: 2, sizes: ['s'] },
      ],
      output: [
        { id: 1, sizes: 's', color: 'red', rgb: 1 },
        { id: 1, sizes: 's', color: 'blue' },
        { id: 1, sizes: 'm', color: 'red', rgb: 1 },
        { id: 1, sizes: 'm', color: 'blue' },
      ],
    },
    {
      config: { arrays: ['a', 'b'], prefix: true, keep_parent: false, on_empty: 'one_row' },
      input: [{ id: 1, a: [{ x: 1 }], b: [] }],
      output: [{ a_x: 1, b: null }],
    },
  ],
  reads: (config) =>
    config.keep_parent ? { kind: 'record' } : { kind: 'fields', names: config.arrays },
  columns: () => ({ kind: 'opaque' }),
  schema: combinedSchema,
  compile(config) {
    const dropped = new Set(config.drop_arrays ? config.arrays : []);
    return {
      kind: 'record',
      apply(record, emit) {
        if (!isObject(record)) return emit(record);
        const lists = config.arrays.map((name) => listIn(record, name, config.on_empty));
        const count = productOf(lists, config.max_product);
        const parent = config.keep_parent ? without(record, dropped) : {};
        for (let i = 0; i < count; i += 1) emit(combination(i, lists, parent, config));
      },
    };
  },
});

/**
 * What elements hold is known where their lists have types. Fields of an element whose type is unknown
 * could take the place of any other field.
 */
function combinedSchema(config: CrossJoinConfig, input: RecordSchema): RecordSchema {
  const { arrays, prefix, keep_parent: keepsParent, drop_arrays: dropsLists } = config;
  const parent = keepsParent ? input.fields : [];
  const isKept = (name: string): boolean => !dropsLists || !arrays.includes(name);
  let known: RecordSchema = { fields: parent.filter(({ name }) => isKept(name)), others: true };
  for (const name of arrays) {
    const type = fieldOf(input, name)?.type;
    const item = type?.kind === 'list' ? type.item : undefined;
    if (item === undefined || item.kind === 'json' || item.kind === 'map') return UNKNOWN_SCHEMA;
    const head = prefix ? `${name}_` : '';
    const fields =
      item.kind === 'struct'
        ? item.fields.map((field) => ({ ...field, name: head + field.name, nullable: true }))
        : [{ name, type: item, nullable: true }];
    known = fields.reduce(withField, known);
  }
  return known;
}

const ONE_NULL: readonly JsonValue[] = [null];

function listIn(
  record: JsonObject,
  name: string,
  onEmpty: CrossJoinConfig['on_empty'],
): readonly JsonValue[] {
  const value = hasField(record, name) ? record[name] : undefined;
  const list = Array.isArray(value) ? value : [];
  return list.length === 0 && onEmpty === 'one_row' ? ONE_NULL : list;
}

function productOf(lists: readonly (readonly JsonValue[])[], limit: number): number {
  const product = lists.reduce((count, list) => count * list.length, 1);
  if (product <= limit) return product;
  throw new RecordError(
    'Transform',
    `one record would become ${product} records, at most ${limit} are allowed`,
    {
      hint: 'raise `max_product`, or filter the lists first',
    },
  );
}

function without(record: JsonObject, dropped: ReadonlySet<string>): JsonObject {
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(record)) {
    if (dropped.has(name)) continue;
    setField(kept, name, value);
    keepSpelling(record, name, kept, name);
  }
  return kept;
}

/** Combination number `index`; the element of the last list changes fastest. */
function combination(
  index: number,
  lists: readonly (readonly JsonValue[])[],
  parent: JsonObject,
  config: CrossJoinConfig,
): JsonObject {
  const row = { ...parent };
  let rest = index;
  let turns = lists.reduce((count, list) => count * list.length, 1);
  for (const [i, list] of lists.entries()) {
    turns /= list.length;
    const at = Math.floor(rest / turns);
    rest %= turns;
    const name = config.arrays[i] ?? '';
    const element = list[at] ?? null;
    if (isContainer(element)) placeFields(row, config.prefix ? `${name}_` : '', element);
    else {
      setField(row, name, element);
      moveSpelling(list, String(at), row, name);
    }
  }
  return row;
}

function placeFields(row: JsonObject, prefix: string, element: JsonObject): void {
  for (const key of Object.keys(element)) {
    setField(row, prefix + key, element[key] as JsonValue);
    moveSpelling(element, key, row, prefix + key);
  }
}

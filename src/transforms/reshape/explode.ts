import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import { hasField, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isContainer } from '../../lib/text/json-literal.ts';
import { keepForm } from '../../lib/value-form.ts';
import { readerOf, type FieldPath } from '../../kit/field-path.ts';
import { pathField, stepsOf } from '../../kit/path-field.ts';
import { fieldOf, forgetFields, withField, type RecordSchema } from '../../kit/record-schema.ts';
import { optional } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';

const schema = z.lazy(() =>
  z.strictObject({
    path: pathField('The list to take apart.'),
    prefix: optional(z.string()).meta({
      description:
        'Stands before the names of the fields of an element; the last step of the path when absent, no prefix when empty.',
    }),
    separator: z.string().default('_').meta({ description: 'Text between prefix and name.' }),
    on_missing: z.enum(['passthrough', 'drop', 'error']).default('passthrough').meta({
      description: 'What happens to a record without a list there, or with an empty one.',
    }),
  }),
);

type ExplodeConfig = z.infer<typeof schema>;

export const explode = defineTransform<ExplodeConfig>({
  type: 'explode',
  description:
    'Makes one record of each element of a list. Fields of an element move beside the list; other elements replace it.',
  config: schema,
  examples: [
    {
      config: { path: 'items' },
      input: [{ id: 1, items: [{ sku: 'a' }, { sku: 'b' }] }],
      output: [
        { id: 1, items_sku: 'a' },
        { id: 1, items_sku: 'b' },
      ],
    },
    {
      config: { path: '$.order.tags' },
      input: [{ order: { tags: ['x', ['y']] } }],
      output: [{ order: { tags: 'x' } }, { order: { tags: ['y'] } }],
    },
    {
      config: { path: 'items', on_missing: 'drop' },
      input: [{ items: [] }, { id: 2 }, { items: 'a' }],
      output: [],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: stepsOf(config.path).slice(0, 1) }),
  columns: () => ({ kind: 'opaque' }),
  schema: explodedSchema,
  compile(config) {
    const path = stepsOf(config.path);
    const read = readerOf(path);
    const place = placerOf(path, config);
    return {
      kind: 'record',
      apply(record, emit) {
        const list = read(record);
        if (Array.isArray(list) && list.length > 0) {
          for (const index of list.keys()) emit(place(record as JsonObject, { list, index }));
        } else if (config.on_missing === 'passthrough') {
          emit(record);
        } else if (config.on_missing === 'error') {
          throw new RecordError('Transform', `\`${config.path}\` is not a list with elements`, {
            hint: 'set `on_missing` to `passthrough` or `drop` to let such records pass',
          });
        }
      },
    };
  },
});

interface Element {
  readonly list: readonly JsonValue[];
  readonly index: number;
}

/** What an element may hold is known where the list has a type. */
function explodedSchema(
  { path, prefix, separator, on_missing: onMissing }: ExplodeConfig,
  input: RecordSchema,
): RecordSchema {
  const [key = '', ...below] = stepsOf(path);
  const type = fieldOf(input, key)?.type;
  if (type === undefined && input.others !== true) return input;
  if (below.length > 0) return type?.kind === 'json' ? input : forgetFields(input, [key]);
  const rest = forgetFields(input, [key]);
  if (type?.kind !== 'list') return rest;
  const head = (prefix ?? key) === '' ? '' : (prefix ?? key) + separator;
  if (type.item.kind === 'struct') {
    const inside = type.item.fields.map((field) => ({ ...field, name: head + field.name }));
    const added = inside.filter(({ name }) => fieldOf(rest, name) === undefined);
    return { fields: [...rest.fields, ...added], others: true };
  }
  const isPlain = type.item.kind !== 'json' && type.item.kind !== 'map';
  // Empty lists pass as the lists that they are.
  if (onMissing === 'passthrough' || !isPlain) return rest;
  return withField(input, { name: key, type: type.item, nullable: true });
}

type Place = (record: JsonObject, element: Element) => JsonObject;

/** Copies the objects on the way to the list and puts the element into the last of them. */
function placerOf(path: FieldPath, config: ExplodeConfig): Place {
  const [key = '', ...rest] = path;
  if (rest.length > 0) {
    const placeBelow = placerOf(rest, config);
    return (record, element) => {
      const copy = { ...record };
      setField(copy, key, placeBelow(record[key] as JsonObject, element));
      return copy;
    };
  }
  const prefix = config.prefix ?? key;
  const head = prefix === '' ? '' : prefix + config.separator;
  return (parent, { list, index }) => {
    const element = list[index] ?? null;
    if (isContainer(element)) return beside(parent, key, { element, head });
    const copy = { ...parent, [key]: element };
    keepForm(list, String(index), copy, key);
    return copy;
  };
}

function beside(
  parent: JsonObject,
  listKey: string,
  { element, head }: { readonly element: JsonObject; readonly head: string },
): JsonObject {
  const copy: JsonObject = {};
  for (const key of Object.keys(parent)) {
    if (key === listKey) continue;
    setField(copy, key, parent[key] as JsonValue);
    keepForm(parent, key, copy, key);
  }
  for (const key of Object.keys(element)) {
    const name = head + key;
    if (hasField(copy, name)) {
      throw new RecordError('Transform', `the record already has a field \`${name}\``, {
        hint: 'choose another `prefix`',
      });
    }
    setField(copy, name, element[key] as JsonValue);
    keepForm(element, key, copy, name);
  }
  return copy;
}

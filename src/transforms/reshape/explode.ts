import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { readerOf, type FieldPath } from '../../kit/field-path.ts';
import { pathField, stepsOf } from '../../kit/path-field.ts';
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
  compile(config) {
    const path = stepsOf(config.path);
    const read = readerOf(path);
    const place = placerOf(path, config);
    return {
      kind: 'record',
      apply(record, emit) {
        const list = read(record);
        if (Array.isArray(list) && list.length > 0) {
          for (const element of list) emit(place(record as JsonObject, element));
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

type Place = (record: JsonObject, element: JsonValue) => JsonObject;

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
  return (parent, element) =>
    isObject(element) ? beside(parent, key, spelled(element, head)) : { ...parent, [key]: element };
}

function spelled(element: JsonObject, head: string): [string, JsonValue][] {
  return Object.entries(element).map(([name, value]) => [head + name, value]);
}

function beside(
  parent: JsonObject,
  listKey: string,
  fields: readonly [string, JsonValue][],
): JsonObject {
  const copy: JsonObject = {};
  for (const key of Object.keys(parent)) {
    if (key !== listKey) setField(copy, key, parent[key] as JsonValue);
  }
  for (const [name, value] of fields) {
    if (hasField(copy, name)) {
      throw new RecordError('Transform', `the record already has a field \`${name}\``, {
        hint: 'choose another `prefix`',
      });
    }
    setField(copy, name, value);
  }
  return copy;
}

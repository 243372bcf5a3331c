import {
  forgetFields,
  typeOfConstant,
  withField,
  type RecordSchema,
} from '../../kit/record-schema.ts';
import { resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, messageOf, RecordError } from '../../lib/errors.ts';
import { readRegularSync } from '../../lib/files/regular-file.ts';
import {
  hasField,
  isObject,
  jsonText,
  parseData,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { keepSpelling, moveSpelling } from '../../lib/text/number-spelling.ts';
import { finding, json, optional, text } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { editing } from '../per-record.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      values: optional(z.array(z.record(z.string(), json()))).meta({
        description: 'The reference rows themselves.',
      }),
      jsonl: optional(text()).meta({
        description:
          'File with the reference rows, one JSON object a line; read once at the start.',
      }),
      on: z
        .strictObject({
          record: text().meta({ description: 'Field of the record.' }),
          ref: text().meta({ description: 'Column of the reference rows.' }),
        })
        .meta({
          description:
            'Fields that have to be equal, compared as text: `42` finds `"42"`, null finds the empty text.',
        }),
      add: z
        .record(text(), text())
        .superRefine((columns, ctx) => {
          if (Object.keys(columns).length === 0)
            ctx.addIssue(finding('out_of_range', 'must not be empty'));
        })
        .meta({
          description:
            'Fields to write, each with the column it comes from; an absent column gives null.',
        }),
      on_missing: z.enum(['null', 'keep', 'error']).default('null').meta({
        description:
          'A record without a reference row gets nulls (`null`), stays as it is (`keep`) or fails the run (`error`).',
      }),
    })
    .superRefine((config, ctx) => {
      if ((config.values === undefined) !== (config.jsonl === undefined)) return;
      const message =
        config.values === undefined
          ? 'give `values` or `jsonl`'
          : 'give `values` or `jsonl`, not both';
      ctx.addIssue(finding(config.values === undefined ? 'missing_key' : 'invalid_value', message));
    }),
);

export const lookup = defineTransform<z.infer<typeof schema>>({
  type: 'lookup',
  description: 'Adds fields from reference rows; the first row with a key counts.',
  config: schema,
  examples: [
    {
      config: {
        values: [
          { code: 42, name: 'first', zone: 'eu' },
          { code: '42', name: 'second' },
        ],
        on: { record: 'c', ref: 'code' },
        add: { label: 'name', area: 'zone' },
      },
      input: [{ c: '42' }, { c: 7 }],
      output: [
        { c: '42', label: 'first', area: 'eu' },
        { c: 7, label: null, area: null },
      ],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: [config.on.record] }),
  columns: (config) => ({ kind: 'add', fields: Object.keys(config.add) }),
  schema: (config, input) =>
    Object.entries(config.add).reduce(
      (known, [name, column]) => withLookedUp(known, name, config, column),
      input,
    ),
  compile(config, { env }) {
    const rows =
      config.values ?? readRows(resolve(env.cwd, config.jsonl ?? ''), config.jsonl ?? '');
    const added = Object.entries(config.add);
    const rowOf = indexRows(
      rows,
      config.on.ref,
      added.map(([, column]) => column),
    );
    const nulls = added.map(() => null);
    return editing((record) => {
      const key = hasField(record, config.on.record) ? keyOf(record[config.on.record]) : '';
      const values =
        (key === undefined ? undefined : rowOf.get(key)) ??
        (config.on_missing === 'null' ? nulls : undefined);
      if (values !== undefined) {
        for (const [i, [name]] of added.entries()) {
          setField(record, name, values[i] ?? null);
          moveSpelling(values, String(i), record, name);
        }
      } else if (config.on_missing === 'error') {
        throw new RecordError(
          'Transform',
          `no reference row for the value of \`${config.on.record}\``,
          {
            hint: 'set `on_missing` to `null` or `keep` to let such records pass',
          },
        );
      }
    });
  },
});

/** Reference rows in the document have types; a file is not read for that. */
// oxlint-disable-next-line max-params
function withLookedUp(
  input: RecordSchema,
  name: string,
  { values, on_missing: onMissing }: z.infer<typeof schema>,
  column: string,
): RecordSchema {
  const types = (values ?? []).flatMap((row) =>
    hasField(row, column) ? (typeOfConstant(row[column] ?? null) ?? []) : [],
  );
  const [type] = types;
  const isSame = type !== undefined && types.every(({ kind }) => kind === type.kind);
  // Without a reference row a record keeps what it has.
  if (!isSame || onMissing === 'keep') return forgetFields(input, [name]);
  return withField(input, { name, type, nullable: true });
}

/** Lists and objects cannot be keys. */
function keyOf(value: JsonValue | undefined): string | undefined {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? undefined : jsonText(value);
}

/** By key, the values to add, in the order of `columns`. */
function indexRows(
  rows: readonly JsonObject[],
  ref: string,
  columns: readonly string[],
): Map<string, readonly JsonValue[]> {
  const index = new Map<string, readonly JsonValue[]>();
  for (const row of rows) {
    const key = hasField(row, ref) ? keyOf(row[ref]) : undefined;
    if (key === undefined || index.has(key)) continue;
    const values: JsonValue[] = [];
    for (const column of columns) {
      const length = values.push(hasField(row, column) ? (row[column] ?? null) : null);
      keepSpelling(row, column, values, String(length - 1));
    }
    index.set(key, values);
  }
  return index;
}

function readRows(path: string, shown: string): JsonObject[] {
  const refuse = (message: string, cause?: unknown): never => {
    const hint = 'every line of the file has to be one JSON object';
    throw new ConfigError([{ code: 'invalid_value', path: 'lookup.jsonl', message, hint }], {
      cause,
    });
  };
  let content = '';
  try {
    content = readRegularSync(path).toString('utf8');
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = `the file ${JSON.stringify(shown)} cannot be read: ${missing ? 'it does not exist' : messageOf(error)}`;
    const hint = 'relative paths start at the folder the process runs in';
    throw new ConfigError([{ code: 'file_unreadable', path: 'lookup.jsonl', message, hint }], {
      cause: error,
    });
  }
  return content.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return [];
    let row: JsonValue = null;
    try {
      row = parseData(line);
    } catch (error) {
      refuse(`line ${i + 1} of ${JSON.stringify(shown)} is not JSON`, error);
    }
    return isObject(row)
      ? [row]
      : refuse(`line ${i + 1} of ${JSON.stringify(shown)} is not an object`);
  });
}

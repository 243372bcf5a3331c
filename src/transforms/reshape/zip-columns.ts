import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { finding, optional } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import {
  addCell,
  columnName,
  columnNames,
  columnTyper,
  columnTypes,
  type ColumnNames,
} from '../columnar.ts';
import { itemPathField, itemPlace, itemReader, type ItemPlace } from './item-path.ts';

const group = z.lazy(() =>
  z.strictObject({
    from: itemPathField('List of cells, inside a row.'),
    header: itemPathField('List of the columns, inside the record.'),
    header_label: optional(
      itemPathField(
        'Name of a column, inside an entry of the header; the entry itself when absent.',
      ),
    ),
    value: optional(itemPathField('Value of a cell, inside the cell; the whole cell when absent.')),
  }),
);

const schema = z.lazy(() =>
  z
    .strictObject({
      rows_path: optional(
        itemPathField(
          'List of rows, inside the record. With `groups` alone the record is the only row.',
        ),
      ),
      columns_path: optional(
        itemPathField(
          'List of the names of the columns, inside the record; every row is a list of cells then.',
        ),
      ),
      groups: optional(z.array(group).min(1)).meta({
        description: 'Lists of cells in every row, each with its own header.',
      }),
      types: columnTypes(),
    })
    .superRefine((config, ctx) => {
      if (config.groups !== undefined && config.columns_path !== undefined) {
        ctx.addIssue(
          finding('invalid_value', '`columns_path` and `groups` exclude each other', {
            path: ['columns_path'],
          }),
        );
      } else if (
        config.groups === undefined &&
        (config.columns_path === undefined || config.rows_path === undefined)
      ) {
        ctx.addIssue(finding('missing_key', 'give `rows_path` and `columns_path`, or `groups`'));
      }
    }),
);

export const zipColumns = defineTransform<z.infer<typeof schema>>({
  type: 'zip_columns',
  description:
    'Makes one record of each row of a payload that keeps names and cells apart. Missing cells are null; cells beyond the header are called `col_<index>`.',
  config: schema,
  examples: [
    {
      config: { rows_path: 'data.rows', columns_path: 'data.columns' },
      input: [
        { data: { columns: ['id', ''], rows: [[1, 'a'], [2, 'b', true], [3]] } },
        { other: 1 },
      ],
      output: [
        { id: 1, col_1: 'a' },
        { id: 2, col_1: 'b', col_2: true },
        { id: 3, col_1: null },
        { other: 1 },
      ],
    },
    {
      config: {
        rows_path: 'rows',
        groups: [
          { from: 'dims', header: 'heads', header_label: 'name', value: 'value' },
          { from: 'nums', header: 'metrics' },
        ],
      },
      input: [
        {
          heads: [{ name: 'city' }],
          metrics: ['visits'],
          rows: [{ dims: [{ value: 'Rome' }], nums: [5] }],
        },
      ],
      output: [{ city: 'Rome', visits: 5 }],
    },
    {
      config: {
        rows_path: 'rows',
        columns_path: 'head',
        types: { day: 'date', net: 'decimal(12, 2)' },
      },
      input: [
        {
          head: ['day', 'net', 'shop'],
          rows: [
            ['2024-02-29', 9.5, '7'],
            ['2024-03-01', ''],
          ],
        },
      ],
      output: [
        { day: '2024-02-29', net: '9.5', shop: '7' },
        { day: '2024-03-01', net: null, shop: null },
      ],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  // The names of the columns are in the data.
  schema: ({ types }) => types ?? UNKNOWN_SCHEMA,
  compile(config) {
    const readRows =
      config.rows_path === undefined
        ? (record: JsonValue): JsonValue => [record]
        : itemReader(config.rows_path);
    const sections = sectionsOf(config);
    const typed = columnTyper(config.types) ?? asItIs;
    return {
      kind: 'record',
      apply(record, emit) {
        const rows = isObject(record) ? readRows(record) : undefined;
        if (!Array.isArray(rows)) return emit(typed(record));
        const headers = sections.map(({ names }) => names(record));
        for (const row of rows) emit(typed(zip(row, sections, headers)));
      },
    };
  },
});

function asItIs(value: JsonValue): JsonValue {
  return value;
}

interface Section {
  readonly names: ColumnNames;
  readonly cells: (row: JsonValue) => JsonValue | undefined;
  /** Absent where the cell is the value. */
  readonly inside?: (cell: JsonValue) => ItemPlace | undefined;
}

function sectionsOf(config: z.infer<typeof schema>): Section[] {
  if (config.groups === undefined)
    return [{ names: columnNames(config.columns_path, undefined), cells: asItIs }];
  return config.groups.map(({ from, header, header_label: label, value }) => ({
    names: columnNames(header, label),
    cells: itemReader(from),
    ...(value === undefined ? {} : { inside: itemPlace(value) }),
  }));
}

function zip(
  row: JsonValue,
  sections: readonly Section[],
  headers: readonly (readonly string[])[],
): JsonObject {
  const out: JsonObject = {};
  for (const [i, { cells, inside }] of sections.entries()) {
    const names = headers[i] ?? [];
    const found = cells(row);
    const list = Array.isArray(found) ? found : [];
    for (let at = 0; at < Math.max(names.length, list.length); at += 1) {
      const cell = at < list.length ? { holder: list, key: String(at) } : undefined;
      const value = inside === undefined ? cell : inside(list[at] ?? null);
      addCell(out, columnName(names, at), value);
    }
  }
  return out;
}

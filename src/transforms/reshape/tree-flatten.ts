import { z } from 'zod';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import {
  defineTransform,
  type CompiledTransform,
  type Emit,
  type TransformContext,
} from '../../kit/transform.ts';
import { UNKNOWN_SCHEMA, withField, type RecordSchema } from '../../kit/record-schema.ts';
import {
  addCell,
  addColumn,
  columnName,
  columnNames,
  columnTyper,
  columnTypes,
} from '../columnar.ts';
import { itemPathField, itemPlace, itemReader, valueAt, type ItemPlace } from './item-path.ts';

const LEAF_FIELD = /^has_field:(.+)$/;

const schema = z.lazy(() =>
  z
    .strictObject({
      children: itemPathField('List of the nodes below a node.'),
      columns: z
        .strictObject({
          from: itemPathField('List of cells, inside a node.'),
          header: optional(itemPathField('List of the columns, inside the record.')),
          header_label: optional(
            itemPathField(
              'Name of a column, inside an entry of the header; the entry itself when absent.',
            ),
          ),
          value: itemPathField(
            'Value of a cell, inside the cell; the whole cell when it is not there.',
          ).default('value'),
        })
        .meta({ description: 'Where the cells of a row and their names stand.' }),
      root: optional(
        itemPathField(
          'The first node or list of nodes, inside the record; the record itself when absent.',
        ),
      ),
      leaf: z
        .string()
        .default('has_no_children')
        .superRefine((value, ctx) => {
          if (value === 'has_no_children' || LEAF_FIELD.test(value)) return;
          const hint = 'one of: has_no_children, has_field:<name>';
          ctx.addIssue(
            finding('invalid_value', `${JSON.stringify(value)} is not a way to recognise a leaf`, {
              hint,
            }),
          );
        })
        .meta({ description: 'Which nodes give a row: `has_no_children`, or `has_field:<name>`.' }),
      ancestors: optional(
        z.strictObject({
          field: itemPathField('Label of a node, inside the node.'),
          as: z.array(text()).default([]).meta({
            description:
              'Names of the columns, from the top; `ancestor_<level>` when there are not enough.',
          }),
        }),
      ).meta({ description: 'Columns with the labels of the nodes above.' }),
      path_as: optional(text()).meta({
        description: 'Column with all labels above joined; needs `ancestors`.',
      }),
      path_sep: z.string().default(' > ').meta({ description: 'Text between the joined labels.' }),
      drop_empty: boolean()
        .default(false)
        .meta({ description: 'Whether rows whose cells are all null or empty are removed.' }),
      emit_group_rows: boolean()
        .default(false)
        .meta({ description: 'Whether other nodes with cells give a row too.' }),
      max_depth: integer({ min: 1 })
        .default(64)
        .meta({ description: 'Levels that are walked; what is deeper is left out and logged.' }),
      types: columnTypes(),
    })
    .superRefine((config, ctx) => {
      if (config.path_as === undefined || config.ancestors !== undefined) return;
      ctx.addIssue(
        finding('invalid_value', '`path_as` needs `ancestors`', {
          path: ['path_as'],
          hint: 'say with `ancestors.field` where labels stand',
        }),
      );
    }),
);

type TreeConfig = z.infer<typeof schema>;

export const treeFlatten = defineTransform<TreeConfig>({
  type: 'tree_flatten',
  description:
    'Makes one record of each leaf of a tree, with the labels of the nodes above it; from the top, children in order.',
  config: schema,
  examples: [
    {
      config: {
        root: 'Rows',
        children: 'Row',
        columns: { from: 'Cells', header: 'Head', header_label: 'title' },
        ancestors: { field: 'label', as: ['section'] },
        path_as: 'path',
      },
      input: [
        {
          Head: [{ title: 'name' }, { title: '' }],
          Rows: [
            {
              label: 'Income',
              Row: [
                { Cells: [{ value: 'Sales' }, { value: '10' }] },
                { label: 'Other', Row: [{ Cells: [{ value: 'Gifts' }, 2] }] },
              ],
            },
            { Cells: [{ value: 'Total' }, { value: null }] },
          ],
        },
      ],
      output: [
        { section: 'Income', path: 'Income', name: 'Sales', col_1: '10' },
        { section: 'Income', ancestor_2: 'Other', path: 'Income > Other', name: 'Gifts', col_1: 2 },
        { path: '', name: 'Total', col_1: null },
      ],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schema: flatSchema,
  compile: compileTree,
});

/** The names of the other columns are in the data. */
function flatSchema({ types, path_as: path, root }: TreeConfig): RecordSchema {
  const told = types ?? UNKNOWN_SCHEMA;
  // A record without the root passes as it is.
  if (path === undefined || root !== undefined || told.fields.some(({ name }) => name === path))
    return told;
  return withField(told, { name: path, type: { kind: 'utf8' }, nullable: false });
}

function compileTree(config: TreeConfig, { env }: TransformContext): CompiledTransform {
  const readRoot =
    config.root === undefined ? (record: JsonValue): JsonValue => record : itemReader(config.root);
  const readChildren = itemReader(config.children);
  const readLabel = config.ancestors === undefined ? undefined : itemReader(config.ancestors.field);
  const namesOf = columnNames(config.columns.header, config.columns.header_label);
  const givesRow = rowTest(config);
  const rowOf = rowMaker(config);
  const typed = columnTyper(config.types) ?? ((record: JsonValue): JsonValue => record);
  let truncated = false;

  const walk = (node: JsonValue, above: readonly JsonValue[], depth: number, tree: Tree): void => {
    if (depth >= config.max_depth) {
      if (!truncated)
        env.log
          .at('headgate::transform::tree_flatten')
          .error('a tree is deeper than `max_depth`; what is below is left out', {
            max_depth: config.max_depth,
          });
      truncated = true;
      return;
    }
    const children = listOf(readChildren(node));
    if (givesRow(node, children.length > 0)) {
      const row = rowOf(node, above, tree.names);
      if (row !== undefined) tree.emit(typed(row));
    }
    if (children.length === 0) return;
    const labels = readLabel === undefined ? above : [...above, readLabel(node) ?? null];
    for (const child of children) walk(child, labels, depth + 1, tree);
  };

  return {
    kind: 'record',
    apply(record, emit) {
      const root = isObject(record) ? readRoot(record) : undefined;
      if (!Array.isArray(root) && !isObject(root)) return emit(typed(record));
      const tree = { names: namesOf(record), emit };
      for (const node of Array.isArray(root) ? root : [root]) walk(node, [], 0, tree);
    },
  };
}

interface Tree {
  readonly names: readonly string[];
  readonly emit: Emit;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function rowTest(config: TreeConfig): (node: JsonValue, hasChildren: boolean) => boolean {
  const field = LEAF_FIELD.exec(config.leaf)?.[1];
  const isLeaf = (node: JsonValue, hasChildren: boolean): boolean =>
    field === undefined ? !hasChildren : isObject(node) && Object.hasOwn(node, field);
  if (!config.emit_group_rows) return isLeaf;
  const readCells = itemReader(config.columns.from);
  return (node, hasChildren) => isLeaf(node, hasChildren) || listOf(readCells(node)).length > 0;
}

type RowMaker = (
  node: JsonValue,
  above: readonly JsonValue[],
  names: readonly string[],
) => JsonObject | undefined;

function rowMaker(config: TreeConfig): RowMaker {
  const readCells = itemReader(config.columns.from);
  const inside = itemPlace(config.columns.value);
  const cellsOf = (node: JsonValue): ItemPlace[] => {
    const holder = readCells(node);
    if (!Array.isArray(holder)) return [];
    return holder.map((cell, index) => inside(cell) ?? { holder, key: String(index) });
  };
  const isEmpty = (cell: ItemPlace): boolean => {
    const value = valueAt(cell);
    return value === null || value === '';
  };
  return (node, above, names) => {
    const cells = cellsOf(node);
    if (config.drop_empty && cells.every(isEmpty)) return undefined;
    const row: JsonObject = {};
    for (const [i, label] of above.entries())
      addColumn(row, config.ancestors?.as[i] ?? `ancestor_${i + 1}`, label);
    if (config.path_as !== undefined)
      addColumn(row, config.path_as, joined(above, config.path_sep));
    for (const [i, cell] of cells.entries()) addCell(row, columnName(names, i), cell);
    return row;
  };
}

function joined(labels: readonly JsonValue[], separator: string): string {
  return labels
    .filter((label) => label !== null)
    .map(jsonText)
    .join(separator);
}

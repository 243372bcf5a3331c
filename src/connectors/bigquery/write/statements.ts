/**
 * Statements that change rows. Values never are part of a statement: they come as one parameter with
 * a JSON list of rows, whose values are texts, and are converted to the types of their columns.
 */
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import type { QueryParameter } from '../query-parameter.ts';
import { backticked } from '../../_google/backticked.ts';
import { itemType, type BigqueryColumn, type TableField } from '../types/fields.ts';

export interface TablePlace {
  readonly project: string;
  readonly dataset: string;
}

export function tableName({ project, dataset }: TablePlace, table: string): string {
  return backticked(`${project}.${dataset}.${table}`);
}

/** Statements that are sent together, with their parameters. */
export interface Script {
  readonly statements: readonly string[];
  readonly parameters: readonly QueryParameter[];
}

/** Several statements are all or nothing. */
export function scriptSql(statements: readonly string[], isOneUnit: boolean): string {
  if (statements.length === 1 && !isOneUnit) return statements[0] ?? '';
  return ['BEGIN TRANSACTION', ...statements, 'COMMIT TRANSACTION', ''].join(';\n').trimEnd();
}

/** The converted value at this place of the row `r`, or of an item. */
function valueAt(field: TableField, holder: string, path: string): string {
  if (!field.isRepeated) return itemAt(field, holder, path);
  const item = itemAt({ ...field, isRepeated: false }, 'e', '$');
  return `ARRAY(SELECT ${item} FROM UNNEST(JSON_QUERY_ARRAY(${holder}, '${path}')) AS e WITH OFFSET AS o ORDER BY o)`;
}

function itemAt(field: TableField, holder: string, path: string): string {
  const text = `JSON_VALUE(${holder}, '${path}')`;
  switch (field.type) {
    case 'STRING':
      return text;
    case 'BYTES':
      return `FROM_BASE64(${text})`;
    case 'JSON':
      return `PARSE_JSON(${text})`;
    case 'GEOGRAPHY':
      return `ST_GEOGFROMTEXT(${text})`;
    case 'STRUCT': {
      const parts = field.fields.map(
        (one, at) => `${valueAt(one, holder, `${path}[${at + 1}]`)} AS ${backticked(one.name)}`,
      );
      return `IF(JSON_VALUE(${holder}, '${path}[0]') IS NULL, NULL, STRUCT(${parts.join(', ')}))`;
    }
    default:
      return `CAST(${text} AS ${bareType(field)})`;
  }
}

/** Limits of a column are those of the column, and not of a cast. */
function bareType({ type, element, ...field }: TableField): string {
  return type === 'RANGE'
    ? itemType({ ...field, type, ...(element === undefined ? {} : { element }) })
    : type;
}

/** The rows of a parameter, with the names of the columns. */
function rowsOf(columns: readonly BigqueryColumn[], parameter: string): string {
  const parts = columns.map(
    ({ field }, at) => `${valueAt(field, 'r', `$[${at}]`)} AS ${backticked(field.name)}`,
  );
  return `SELECT ${parts.join(', ')} FROM UNNEST(JSON_QUERY_ARRAY(@${parameter})) AS r`;
}

function names(columns: readonly BigqueryColumn[], of = ''): string {
  return columns.map(({ name }) => `${of}${backticked(name)}`).join(', ');
}

export function insertSql(
  table: string,
  columns: readonly BigqueryColumn[],
  parameter: string,
): string {
  return `INSERT INTO ${table} (${names(columns)}) ${rowsOf(columns, parameter)}`;
}

function sameKey(key: readonly BigqueryColumn[]): string {
  return key.map(({ name }) => `T.${backticked(name)} = S.${backticked(name)}`).join(' AND ');
}

export interface Upsert {
  readonly columns: readonly BigqueryColumn[];
  readonly key: readonly BigqueryColumn[];
}

export function upsertSql(table: string, { columns, key }: Upsert, parameter: string): string {
  const isKey = new Set(key.map(({ name }) => name));
  const changes = columns
    .filter(({ name }) => !isKey.has(name))
    .map(({ name }) => `${backticked(name)} = S.${backticked(name)}`);
  const update = changes.length === 0 ? '' : ` WHEN MATCHED THEN UPDATE SET ${changes.join(', ')}`;
  return `MERGE INTO ${table} AS T USING (${rowsOf(columns, parameter)}) AS S ON ${sameKey(key)}${update} WHEN NOT MATCHED THEN INSERT (${names(columns)}) VALUES (${names(columns, 'S.')})`;
}

export function deleteSql(
  table: string,
  key: readonly BigqueryColumn[],
  parameter: string,
): string {
  return `MERGE INTO ${table} AS T USING (${rowsOf(key, parameter)}) AS S ON ${sameKey(key)} WHEN MATCHED THEN DELETE`;
}

/** Removes rows of the scope whose key is not among those of the parameter. */
export function sweepSql(
  table: string,
  {
    key,
    scope,
  }: { readonly key: readonly BigqueryColumn[]; readonly scope: readonly BigqueryColumn[] },
  parameters: { readonly keys: string; readonly scope: string },
): string {
  const inside = scope.map(
    ({ field }, at) =>
      ` AND T.${backticked(field.name)} IS NOT DISTINCT FROM ${valueAt(field, `@${parameters.scope}`, `$[${at}]`)}`,
  );
  return `MERGE INTO ${table} AS T USING (${rowsOf(key, parameters.keys)}) AS S ON ${sameKey(key)} WHEN NOT MATCHED BY SOURCE${inside.join('')} THEN DELETE`;
}

/** Rows in a window; its bounds are a parameter with two values. */
export function insideSql(column: BigqueryColumn, parameter: string): string {
  const name = backticked(column.name);
  const [from, to] = [0, 1].map((at) => valueAt(column.field, `@${parameter}`, `$[${at}]`));
  return `${name} >= ${from} AND ${name} < ${to}`;
}

export function rowsParameter(name: string, rows: readonly JsonValue[]): QueryParameter {
  return { name, type: 'STRING', value: stringifyJson([...rows]) };
}

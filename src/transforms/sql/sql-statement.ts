import { duckdbRows, type DuckDBConnection } from '../../lib/sql/duckdb.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** What a statement is, as far as its text says. */
export type StatementInfo =
  | { readonly fault: string }
  | {
      /** Tables it reads, without those it defines itself. */
      readonly tables: readonly string[];
      /** Whether several records become one. */
      readonly aggregates: boolean;
      /**
       * Whether whole records are compared (`DISTINCT`, `UNION` and their like, groups), or they are
       * ordered by columns that have no name there.
       */
      readonly compares: boolean;
      /**
       * Whether it may look into a column of this name, and not only have it in its result as it is.
       */
      readonly worksOn: (column: string) => boolean;
      /** The columns it names: `[id]`, `[batch, id]` or, inside of a column, `[place, city]`. */
      readonly paths: readonly (readonly string[])[];
    };

const COMPARING: ReadonlySet<JsonValue> = new Set(['DISTINCT_MODIFIER', 'SET_OPERATION_NODE']);

/** Compares columns that it does not name. */
function isNaturalJoin({ type, ref_type: kind }: JsonObject): boolean {
  return type === 'JOIN' && kind === 'NATURAL';
}

function isOrderedByNumber({ type, orders }: JsonObject): boolean {
  if (type !== 'ORDER_MODIFIER' || !Array.isArray(orders)) return false;
  return orders.some((order) => {
    const by = isObject(order) ? order['expression'] : undefined;
    return !isObject(by) || by['class'] === 'CONSTANT' || by['class'] === 'STAR';
  });
}

/** Parses a statement without looking at any table. */
export async function inspectStatement(
  connection: DuckDBConnection,
  query: string,
): Promise<StatementInfo> {
  const [row] = await duckdbRows(connection, 'SELECT json_serialize_sql($1::VARCHAR) AS tree', [
    query,
  ]);
  const tree = row?.['tree'];
  if (!isObject(tree)) return { fault: 'the engine cannot read the statement' };
  if (tree['error'] === true) {
    const message = jsonText(tree['error_message'] ?? null);
    return { fault: message.startsWith('Only SELECT') ? 'only a SELECT is possible' : message };
  }
  const statements = tree['statements'];
  if (!Array.isArray(statements) || statements.length !== 1)
    return { fault: 'it has to be exactly one statement' };
  const aggregates = new Set(
    (
      await duckdbRows(
        connection,
        "SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE function_type = 'aggregate'",
      )
    ).map(({ name }) => name as string),
  );
  const found = {
    tables: new Set<string>(),
    defined: new Set<string>(),
    aggregates: false,
    compares: false,
  };
  walk(statements, (node) => {
    if (COMPARING.has(node['type'] ?? null) || isOrderedByNumber(node) || isNaturalJoin(node))
      found.compares = true;
    if (node['type'] === 'BASE_TABLE') found.tables.add(jsonText(node['table_name'] ?? null));
    if (isObject(node['cte_map']))
      for (const name of definedIn(node['cte_map'])) found.defined.add(name);
    if (node['class'] === 'FUNCTION' && aggregates.has(jsonText(node['function_name'] ?? null)))
      found.aggregates = true;
    if (Array.isArray(node['group_expressions']) && node['group_expressions'].length > 0)
      found.aggregates = true;
  });
  return {
    tables: [...found.tables].filter((name) => !found.defined.has(name)),
    aggregates: found.aggregates,
    compares: found.compares || found.aggregates,
    ...columnsOf(statements[0] ?? null),
  };
}

type NamedColumns = Pick<Exclude<StatementInfo, { readonly fault: string }>, 'worksOn' | 'paths'>;

function columnsOf(statement: JsonValue): NamedColumns {
  const node = isObject(statement) && isObject(statement['node']) ? statement['node'] : {};
  const results = new Set(Array.isArray(node['select_list']) ? node['select_list'] : []);
  const names = new Set<string>();
  const paths: string[][] = [];
  const tables = new Set<string>();
  let isAny = false;
  walk(statement, (part) => {
    // `COLUMNS(…)` in an expression stands for any column.
    if (part['class'] === 'STAR' && !results.has(part)) isAny = true;
    // `batch AS b(x, y)` gives the columns other names.
    if (isNotEmpty(part['column_name_alias'])) isAny = true;
    for (const name of textsIn(part['using_columns'])) names.add(name.toLowerCase());
    if (part['class'] === undefined)
      for (const name of [part['alias'], part['table_name']])
        if (typeof name === 'string') tables.add(name.toLowerCase());
    const path = part['class'] === 'COLUMN_REF' ? part['column_names'] : [];
    const parts = Array.isArray(path) ? path.map(jsonText) : [];
    if (parts.length > 0) paths.push(parts);
    // The last part is the column, or a field inside of the column that is the part before it.
    for (const name of results.has(part) ? parts.slice(0, -1) : parts)
      names.add(name.toLowerCase());
  });
  // The name of a table stands for all of its columns: `to_json(batch)`.
  if (paths.some(([name = '', ...rest]) => rest.length === 0 && tables.has(name.toLowerCase())))
    isAny = true;
  return { worksOn: (column) => isAny || names.has(column.toLowerCase()), paths };
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function isNotEmpty(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}

function definedIn({ map }: JsonObject): string[] {
  return Array.isArray(map)
    ? map.filter(isObject).map((entry) => jsonText(entry['key'] ?? null))
    : [];
}

function walk(node: JsonValue, visit: (node: JsonObject) => void): void {
  if (Array.isArray(node)) for (const item of node) walk(item, visit);
  if (!isObject(node)) return;
  visit(node);
  for (const value of Object.values(node)) walk(value, visit);
}

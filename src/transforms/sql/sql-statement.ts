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
    };

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
  const found = { tables: new Set<string>(), defined: new Set<string>(), aggregates: false };
  walk(statements, (node) => {
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
  };
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

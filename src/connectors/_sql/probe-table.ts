import type { ProbeFinding } from '../../kit/probe.ts';
import type { SqlSinkConfig } from './sink-fields.ts';

/** Whether the table is one that the config can write to; `columns` is undefined without a table. */
export function tableFinding(
  { table_name: table, column_mapping: mapping, key, create_table: isMade }: SqlSinkConfig,
  columns: readonly string[] | undefined,
  /** The form in which the database compares names. */
  form: (name: string) => string = (name) => name,
): ProbeFinding {
  const known = new Set(columns?.map(form));
  if (columns === undefined)
    return isMade
      ? { name: 'schema', status: 'pass' }
      : failed(
          `there is no table \`${table}\`, and \`create_table\` is false`,
          'make the table, or let the run make it with `create_table: true`',
        );
  if (mapping.kind === 'json' && !known.has(form(mapping.column)))
    return failed(
      `the table \`${table}\` has no column \`${mapping.column}\` for the records`,
      'write `column_mapping: auto_map` for one column a field, or name a column that holds JSON',
    );
  const missing = mapping.kind === 'json' ? [] : key.filter((name) => !known.has(form(name)));
  if (missing.length > 0)
    return failed(
      `the table \`${table}\` has no column \`${missing.join('`, `')}\`, which \`key\` names`,
      'add the column, or choose another `key`',
    );
  return { name: 'schema', status: 'pass' };
}

export function failed(reason: string, hint: string): ProbeFinding {
  return { name: 'schema', status: 'fail', reason, hint };
}

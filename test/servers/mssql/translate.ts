/**
 * Statements of T-SQL as statements of PostgreSQL: as many as the connectors and their tests send.
 * What is not known goes through as it is, and fails there.
 */
import { sqlPieces } from '../../../src/connectors/_sql/sql-text.ts';
import { parseType } from './types.ts';

export interface Translated {
  readonly sql: string;
  /** Tables that the statement locks against other writers. */
  readonly locks: readonly string[];
  /** Types of the columns of a new table or of changed columns, as they were written. */
  readonly types?: { readonly table: string; readonly columns: ReadonlyMap<string, string> };
  /** The table whose types a new table copies. */
  readonly copies?: { readonly from: string; readonly to: string };
}

/** Names, texts and comments are put away while the words between them are changed. */
interface Parts {
  code: string;
  readonly kept: string[];
}

/** Marks that no statement has. */
const OPEN = '\ue001';
const CLOSE = '\ue002';
const KEPT = /\ue001(\d+)\ue002/g;

function take(sql: string): Parts {
  const kept: string[] = [];
  const keep = (text: string): string => `${OPEN}${kept.push(text) - 1}${CLOSE}`;
  const code = sqlPieces(sql, 'tsql')
    .map(({ kind, text }) => {
      if (kind === 'comment') return ' ';
      if (kind === 'literal') return keep(text);
      if (kind === 'identifier')
        return keep(text.startsWith('[') ? quoted(text.slice(1, -1).replaceAll(']]', ']')) : text);
      return text.replaceAll(/#\w+/g, (name) => keep(quoted(name)));
    })
    .join('')
    // The mark of a text of Unicode.
    .replaceAll(/\bN(?=\ue001)/g, '');
  return { code, kept };
}

function back({ kept }: Parts, code: string): string {
  return code.replaceAll(KEPT, (_, at) => kept[Number(at)] ?? '');
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statements of a batch. */
export function statementsOf(batch: string): string[] {
  const parts = take(batch);
  return parts.code
    .split(';')
    .map((one) => back(parts, one).trim())
    .filter((one) => one !== '');
}

const TABLE = String.raw`(?:(?:\ue001\d+\ue002|\w+)\.)?(?:\ue001\d+\ue002|\w+)`;

export function translate(
  statement: string,
  slot: (name: string) => string,
  { inserts = false }: { readonly inserts?: boolean } = {},
): Translated {
  const rename = /^EXEC\s+sp_rename\s+N?'((?:[^']|'')*)'\s*,\s*N?'((?:[^']|'')*)'$/i.exec(
    statement,
  );
  if (rename !== null) {
    const parts = take((rename[1] ?? '').replaceAll("''", "'"));
    const to = quoted((rename[2] ?? '').replaceAll("''", "'"));
    return { sql: `ALTER TABLE ${back(parts, parts.code)} RENAME TO ${to}`, locks: [] };
  }
  const parts = take(statement);
  const procedure = /^\s*EXEC(?:UTE)?\s+(?:sys\.)?((?:sp_)?cdc_\w+)([^]*)$/i.exec(parts.code);
  if (procedure !== null) {
    const [, name = '', given = ''] = procedure;
    const named = binaries(given).replaceAll(/@(\w+)\s*=/g, '$1 =>');
    return { sql: `CALL sys.${name}(${back(parts, named)})`, locks: [] };
  }
  const made = madeTable(parts);
  if (made !== undefined) return made;
  const locks: string[] = [];
  let code = changesIn(parts, binaries(parts.code))
    .replaceAll(
      new RegExp(String.raw`(${TABLE})\s+WITH\s*\(([A-Z, ]+)\)`, 'gi'),
      (_, table: string) => {
        locks.push(back(parts, table));
        return table;
      },
    )
    .replaceAll(/\bDELETE\s+t\s+FROM\b/gi, 'DELETE FROM')
    .replaceAll(
      /\bCOLLATE\s+(\w+)/gi,
      (_, name: string) => `COLLATE sys.${quoted(collation(name))}`,
    )
    .replaceAll(/\bINFORMATION_SCHEMA\./gi, 'sys_info.')
    .replaceAll(/@(\w+)/g, (_, name: string) => slot(name));
  code = castTypes(code);
  const top = /\bSELECT\s+TOP\s*\(\s*(\d+)\s*\)/i.exec(code);
  if (top !== null) code = `${code.replace(top[0], 'SELECT')} LIMIT ${top[1]}`;
  if (inserts)
    code = code.replaceAll(
      /(\bINSERT\s*(?:INTO\s+\S+\s*)?\([^)]*\))/gi,
      '$1 OVERRIDING SYSTEM VALUE',
    );
  const into = new RegExp(
    String.raw`^(\s*SELECT[^]*?)\s+INTO\s+(${TABLE})\s+(FROM\s+(${TABLE})[^]*)$`,
    'i',
  ).exec(code);
  if (into !== null) {
    const [, select = '', to = '', rest = '', from = ''] = into;
    const name = back(parts, to);
    const temporary = name.startsWith('"#') ? 'TEMP ' : '';
    return {
      sql: back(parts, `CREATE ${temporary}TABLE ${to} AS ${select} ${rest}`),
      locks,
      copies: { from: back(parts, from), to: name },
    };
  }
  return { sql: back(parts, code), locks };
}

function binaries(code: string): string {
  return code.replaceAll(/\b0x([0-9a-f]*)\b/gi, String.raw`'\x$1'::bytea`);
}

/** The function that gives the changes of a capture instance, as what it reads. */
function changesIn(parts: Parts, code: string): string {
  const called = /\bcdc\.(\ue001\d+\ue002|\w+)\s*\(/i.exec(code);
  const [, instance] =
    /^"?fn_cdc_get_all_changes_(\w+?)"?$/i.exec(back(parts, called?.[1] ?? '')) ?? [];
  if (called === null || instance === undefined) return code;
  const open = called.index + called[0].length - 1;
  const close = closing(code, open);
  const [low, high, filter] = splitLines(code.slice(open + 1, close));
  const place = '"__$start_lsn"';
  const rows = `(SELECT * FROM cdc.${quoted(`${instance}_CT`)} WHERE sys.cdc_range('${instance}', ${low}, ${high}, ${filter})
    AND ${place} BETWEEN ${low} AND ${high} AND ("__$operation" <> 3 OR ${filter} = 'all update old'))`;
  return code.slice(0, called.index) + rows + code.slice(close + 1);
}

function collation(name: string): string {
  return /^database_default$/i.test(name) ? 'SQL_Latin1_General_CP1_CI_AS' : name;
}

/** The type of each CAST. Times are texts behind, as they have one digit more than PostgreSQL. */
function castTypes(code: string): string {
  const at = code.search(/\bCAST\s*\(/i);
  if (at === -1) return code;
  const open = code.indexOf('(', at);
  const close = closing(code, open);
  const inner = castTypes(code.slice(open + 1, close));
  const [, value = inner, type = ''] =
    /^([^]*)\bAS\s+(\w+\s*(?:\([^)]*\))?)\s*$/i.exec(inner) ?? [];
  return `${code.slice(0, at)}${castTo(value.trim(), type)}${castTypes(code.slice(close + 1))}`;
}

function castTo(value: string, written: string): string {
  const { name, scale } = parseType(written);
  switch (name) {
    case 'datetime2':
    case 'time':
    case 'datetimeoffset':
      return `sys.as_${name}((${value})::text, ${scale})`;
    case 'datetime':
    case 'smalldatetime':
      return `sys.as_${name}((${value})::text)`;
    default:
      return `CAST(${value} AS ${typeBehind(written)})`;
  }
}

function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}

export function typeBehind(written: string): string {
  const { name, length, precision, scale } = parseType(written);
  switch (name) {
    case 'tinyint':
      return 'sys.tinyint';
    case 'int':
      return 'integer';
    case 'bit':
      return 'boolean';
    case 'float':
      return 'double precision';
    case 'decimal':
      return `numeric(${precision},${scale})`;
    case 'money':
      return 'numeric(19,4)';
    case 'smallmoney':
      return 'numeric(10,4)';
    case 'uniqueidentifier':
      return 'uuid';
    case 'varchar':
    case 'nvarchar':
    case 'char':
    case 'nchar':
      return length === -1 ? 'text' : `varchar(${length})`;
    case 'varbinary':
    case 'binary':
    case 'image':
      return 'bytea';
    case 'ntext':
    case 'xml':
    case 'sql_variant':
    case 'datetime2':
    case 'datetime':
    case 'smalldatetime':
    case 'time':
    case 'datetimeoffset':
      return 'text';
    default:
      return name;
  }
}

/** A type, and what of it PostgreSQL understands: the collation of texts, numbers by the server. */
function columnType(written: string): { readonly sql: string; readonly type: string } {
  const [type = ''] = /^\w+(?:\s*\([^)]*\))?/.exec(written) ?? [];
  const isIdentity = /\bIDENTITY\b/i.test(written);
  const [, named] = /\bCOLLATE\s+(\w+)/i.exec(written) ?? [];
  const rest = written
    .slice(type.length)
    .replace(/\bIDENTITY\s*(?:\([^)]*\))?/i, 'GENERATED ALWAYS AS IDENTITY')
    .replace(/\bCOLLATE\s+\w+/i, '');
  const isText = /char|text/i.test(type);
  const collated = isText ? ` COLLATE sys.${quoted(collation(named ?? 'database_default'))}` : '';
  return {
    sql: `${typeBehind(type)}${collated}${rest}`,
    type: isIdentity ? `${type} identity` : type,
  };
}

function madeTable(parts: Parts): Translated | undefined {
  const { code } = parts;
  const create = new RegExp(String.raw`^\s*CREATE\s+TABLE\s+(${TABLE})\s*\(([^]*)\)\s*$`, 'i').exec(
    code,
  );
  if (create !== null) {
    const [, table = '', body = ''] = create;
    const columns = new Map<string, string>();
    const lines = splitLines(body).map((line) => lineOf(parts, line, columns));
    const name = back(parts, table);
    const kind = name.startsWith('"#') ? 'TEMP TABLE' : 'TABLE';
    return {
      sql: `CREATE ${kind} ${name} (${lines.join(', ')})`,
      locks: [],
      types: { table: name, columns },
    };
  }
  const alter = new RegExp(String.raw`^\s*ALTER\s+TABLE\s+(${TABLE})\s+([^]*)$`, 'i').exec(code);
  if (alter === null) return undefined;
  const [, table = '', action = ''] = alter;
  const name = back(parts, table);
  const columns = new Map<string, string>();
  return {
    sql: `ALTER TABLE ${name} ${actionOf(parts, action.trim(), columns)}`,
    locks: [],
    types: { table: name, columns },
  };
}

function actionOf(parts: Parts, action: string, columns: Map<string, string>): string {
  const byDefault = /^ADD\s+DEFAULT\s+([^]*)\s+FOR\s+(\S+)$/i.exec(action);
  if (byDefault !== null)
    return back(parts, `ALTER COLUMN ${byDefault[2]} SET DEFAULT ${byDefault[1]}`);
  const changed = /^ALTER\s+COLUMN\s+(\S+)\s+([^]*?)\s*(NOT\s+NULL|NULL)?$/i.exec(action);
  if (changed !== null) {
    const [, column = '', written = '', nulls = ''] = changed;
    const { sql, type } = columnType(written);
    const name = back(parts, column);
    columns.set(plainName(name), type);
    const nullable = /^NOT/i.test(nulls) ? 'SET' : 'DROP';
    const [typed = ''] = sql.split(' COLLATE');
    return `ALTER COLUMN ${name} TYPE ${sql} USING ${name}::text::${typed}, ALTER COLUMN ${name} ${nullable} NOT NULL`;
  }
  const added = /^ADD\s+([^]*)$/i.exec(action);
  if (added === null || /^ADD\s+(?:CONSTRAINT|PRIMARY|UNIQUE)\b/i.test(action))
    return back(parts, action);
  return splitLines(added[1] ?? '')
    .map((line) => `ADD COLUMN ${lineOf(parts, line, columns)}`)
    .join(', ');
}

function lineOf(parts: Parts, line: string, columns: Map<string, string>): string {
  if (/^\s*(?:PRIMARY|CONSTRAINT|UNIQUE|CHECK|FOREIGN)\b/i.test(line)) return back(parts, line);
  const [, name = '', written = ''] = /^\s*(\S+)\s+([^]*)$/.exec(line) ?? [];
  const computed = /^AS\s+(\([^]*\))/i.exec(written);
  const column = back(parts, name);
  if (computed !== null) {
    columns.set(plainName(column), 'int computed');
    return back(parts, `${column} integer GENERATED ALWAYS AS ${computed[1]} STORED`);
  }
  const { sql, type } = columnType(written);
  columns.set(plainName(column), back(parts, type));
  return `${column} ${back(parts, sql)}`;
}

function plainName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase();
}

/** Parts between the commas outside of parentheses. */
function splitLines(body: string): string[] {
  const lines: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= body.length; at += 1) {
    if (body[at] === '(') depth += 1;
    if (body[at] === ')') depth -= 1;
    if (at < body.length && (body[at] !== ',' || depth > 0)) continue;
    lines.push(body.slice(from, at));
    from = at + 1;
  }
  return lines;
}

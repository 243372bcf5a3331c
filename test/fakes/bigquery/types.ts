/** Types: of BigQuery in statements and schemas, and of the engine that stands behind the fake. */

export interface Field {
  readonly name: string;
  /** The name in standard SQL. */
  readonly type: string;
  readonly mode: 'NULLABLE' | 'REQUIRED' | 'REPEATED';
  readonly fields?: readonly Field[];
  readonly precision?: number;
  readonly scale?: number;
  readonly maxLength?: number;
  readonly element?: string;
  readonly defaultValue?: string;
}

/** Types that the engine does not have are structs with one text, whose name says the type. */
const MARK = 'bq ';
const ENGINE: Readonly<Record<string, string>> = {
  INT64: 'BIGINT',
  FLOAT64: 'DOUBLE',
  BOOL: 'BOOLEAN',
  STRING: 'VARCHAR',
  BYTES: 'BLOB',
  DATE: 'DATE',
  TIME: 'TIME',
  DATETIME: 'TIMESTAMP',
  TIMESTAMP: 'TIMESTAMPTZ',
  JSON: 'JSON',
};

export function engineName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function isMarked({ type }: Pick<Field, 'type'>): boolean {
  return !(type in ENGINE) && type !== 'NUMERIC' && type !== 'STRUCT';
}

export function markOf({ type, element }: Pick<Field, 'type' | 'element'>): string {
  return MARK + (type === 'RANGE' ? `RANGE<${element ?? 'DATE'}>` : type);
}

export function engineType(field: Field): string {
  const item = engineItem(field);
  return field.mode === 'REPEATED' ? `${item}[]` : item;
}

export function engineItem(field: Field): string {
  if (field.type === 'STRUCT')
    return `STRUCT(${(field.fields ?? []).map((one) => `${engineName(one.name)} ${engineType(one)}`).join(', ')})`;
  if (field.type === 'NUMERIC')
    return `DECIMAL(${field.precision ?? 38}, ${field.precision === undefined ? 9 : (field.scale ?? 0)})`;
  return ENGINE[field.type] ?? `STRUCT(${engineName(markOf(field))} VARCHAR)`;
}

const LEGACY: Readonly<Record<string, string>> = {
  INT64: 'INTEGER',
  FLOAT64: 'FLOAT',
  BOOL: 'BOOLEAN',
  STRUCT: 'RECORD',
};

/** As schemas of the API have it. */
export function apiField(field: Field): Record<string, unknown> {
  const { name, type, mode, fields, precision, scale, maxLength, element, defaultValue } = field;
  return {
    name,
    type: LEGACY[type] ?? type,
    mode,
    ...(fields === undefined ? {} : { fields: fields.map(apiField) }),
    ...(precision === undefined ? {} : { precision: String(precision) }),
    ...(scale === undefined ? {} : { scale: String(scale) }),
    ...(maxLength === undefined ? {} : { maxLength: String(maxLength) }),
    ...(element === undefined ? {} : { rangeElementType: { type: element } }),
    ...(defaultValue === undefined ? {} : { defaultValueExpression: defaultValue }),
  };
}

/** Cuts at commas that are not inside of brackets or quotes. */
export function splitTop(text: string): string[] {
  const parts: string[] = [];
  let [depth, from, quote] = [0, 0, ''];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (`'"\``.includes(char)) quote = char;
    else if ('(<['.includes(char)) depth += 1;
    else if (')>]'.includes(char)) depth -= 1;
    else if (char === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** A column as `CREATE TABLE` has it: name, type, and what follows. */
export function columnIn(text: string): Field {
  const found = /^(?:`([^`]+)`|(\w+))\s+([^]*)$/.exec(text.trim());
  if (found === null) throw new Error(`Syntax error: ${text}`);
  const [, quoted, plain, rest = ''] = found;
  const option = /\s+DEFAULT\s+([^]+?)(\s+NOT\s+NULL)?$/i.exec(rest);
  const bare = rest.replace(/\s+DEFAULT\s[^]*$/i, '').replace(/\s+NOT\s+NULL\s*$/i, '');
  const type = typeIn(bare.trim());
  const isRequired = /\bNOT\s+NULL\s*$/i.test(rest);
  return {
    ...type,
    name: quoted ?? plain ?? '',
    mode: type.mode === 'REPEATED' ? 'REPEATED' : isRequired ? 'REQUIRED' : 'NULLABLE',
    ...(option?.[1] === undefined ? {} : { defaultValue: option[1].trim() }),
  };
}

/** A type of standard SQL: `ARRAY<STRUCT<a INT64>>`, `NUMERIC(10, 2)`. */
export function typeIn(text: string): Field {
  const [, name = '', inner] = /^(\w+)\s*(?:[<(]([^]*)[>)])?$/.exec(text.trim()) ?? [];
  const type = name.toUpperCase();
  const base = { name: '', type, mode: 'NULLABLE' } as const;
  switch (type) {
    case 'ARRAY':
      return { ...typeIn(inner ?? ''), mode: 'REPEATED' };
    case 'STRUCT':
      return { ...base, fields: splitTop(inner ?? '').map(columnIn) };
    case 'RANGE':
      return { ...base, element: (inner ?? '').trim().toUpperCase() };
    case 'NUMERIC':
    case 'BIGNUMERIC': {
      const [precision, scale] = (inner ?? '').split(',').map(Number);
      return inner === undefined
        ? base
        : { ...base, precision: precision ?? 38, ...(scale === undefined ? {} : { scale }) };
    }
    case 'STRING':
    case 'BYTES':
      return inner === undefined ? base : { ...base, maxLength: Number(inner) };
    default:
      if (type in ENGINE || ['GEOGRAPHY', 'INTERVAL'].includes(type)) return base;
      throw new Error(`Type not found: ${text}`);
  }
}

const FROM_ENGINE: Readonly<Record<string, string>> = {
  TINYINT: 'INT64',
  SMALLINT: 'INT64',
  INTEGER: 'INT64',
  BIGINT: 'INT64',
  HUGEINT: 'INT64',
  FLOAT: 'FLOAT64',
  DOUBLE: 'FLOAT64',
  BOOLEAN: 'BOOL',
  VARCHAR: 'STRING',
  BLOB: 'BYTES',
  DATE: 'DATE',
  TIME: 'TIME',
  TIMESTAMP: 'DATETIME',
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP',
  JSON: 'JSON',
};

/** The type of a result, as the engine describes it. */
export function fieldOfEngine(name: string, text: string): Field {
  const base = { name, mode: 'NULLABLE' } as const;
  if (text.endsWith('[]')) return { ...fieldOfEngine(name, text.slice(0, -2)), mode: 'REPEATED' };
  if (text.startsWith('DECIMAL')) return { ...base, type: 'NUMERIC' };
  if (text.startsWith('STRUCT(')) {
    const fields = splitTop(text.slice(7, -1)).map((part) => {
      const [, quoted, plain, type = ''] = /^(?:"((?:[^"]|"")+)"|(\w+))\s+([^]+)$/.exec(part) ?? [];
      return fieldOfEngine((quoted ?? plain ?? '').replaceAll('""', '"'), type);
    });
    const [only] = fields;
    if (only === undefined || !only.name.startsWith(MARK))
      return { ...base, type: 'STRUCT', fields };
    return { ...typeIn(only.name.slice(MARK.length)), ...base };
  }
  const type = FROM_ENGINE[text];
  if (type === undefined) throw new Error(`the fake has no type for ${text}`);
  return { ...base, type };
}

/** A document to start from, in pieces: each with what was found and what says so. */
import { stringify } from 'yaml';
import { commentLines } from '../../document/text/comment-lines.ts';
import { withEscapes } from '../../document/tokens/tokens.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

/** A setting and the evidence that stands behind it. */
export interface Setting {
  readonly key: string;
  readonly value: JsonValue;
  readonly because?: string | undefined;
}

export interface DraftField {
  readonly name: string;
  readonly contractType: string | undefined;
  readonly isKey: boolean;
  /** Absent in some records. */
  readonly isOptional?: boolean;
}

export interface DraftSource {
  readonly type: string;
  readonly settings: readonly Setting[];
  /** Types of fields, each with its evidence; `type` is absent for what stays a text. */
  readonly columns: readonly {
    readonly name: string;
    readonly type: string | undefined;
    readonly because: string;
  }[];
}

export interface Draft {
  readonly name: string;
  /** Lines at the top. */
  readonly about: readonly string[];
  readonly source: DraftSource;
  readonly transforms: readonly {
    readonly type: string;
    readonly config: JsonObject;
    readonly because: string;
  }[];
  readonly fields: readonly DraftField[];
  /** Sentences about key and cursor. */
  readonly advice: readonly string[];
  readonly sink: { readonly type: string; readonly config: JsonObject };
  readonly rejected: string;
}

/** YAML, with the evidence as comments. */
export function documentOf(draft: Draft): string {
  return [
    ...commentLines(draft.about, ''),
    'version: 1',
    `name: ${flow(draft.name)}`,
    '',
    'pipeline:',
    ...sourceLines(draft.source),
    ...transformLines(draft.transforms),
    '',
    ...commentLines(draft.advice, '  '),
    '  sink:',
    `    type: ${draft.sink.type}`,
    ...block('config', draft.sink.config, '    '),
    '',
    '  # Takes what does not fit, with the reason beside each: `headgate dlq inspect` shows it.',
    '  dlq:',
    '    sink:',
    '      type: jsonl',
    '      config:',
    `        path: ${flow(draft.rejected)}`,
    ...contractLines(draft),
    '',
  ].join('\n');
}

function sourceLines({ type, settings, columns }: DraftSource): string[] {
  const typed = columns.filter((column) => column.type !== undefined);
  const texts = columns.filter((column) => column.type === undefined);
  const isLast = ({ key }: Setting): boolean => key === 'on_error';
  return [
    '  source:',
    `    type: ${type}`,
    '    config:',
    ...settings.filter((setting) => !isLast(setting)).flatMap(settingLines),
    ...commentLines(
      texts.map(({ name, because }) => `${name}: text (${because})`),
      '      ',
    ),
    ...(typed.length === 0 ? [] : ['      # The types of the others, and what says so.']),
    ...(typed.length === 0 ? [] : ['      columns:']),
    ...typed.flatMap(({ name, type: written = '', because }) => [
      ...commentLines([because], '        '),
      `        ${flow(name)}: ${flow(written)}`,
    ]),
    ...settings.filter(isLast).flatMap(settingLines),
  ];
}

function settingLines({ key, value, because }: Setting): string[] {
  return [
    ...(because === undefined ? [] : commentLines([because], '      ')),
    ...block(key, value, '      '),
  ];
}

function transformLines(transforms: Draft['transforms']): string[] {
  if (transforms.length === 0) return [];
  return [
    '',
    '  # What happens to every record, in this order.',
    '  transforms:',
    ...transforms.flatMap(({ type, config, because }) => [
      ...commentLines([because], '    '),
      `    - type: ${type}`,
      ...block('config', config, '      '),
    ]),
  ];
}

function contractLines({ fields }: Draft): string[] {
  const known = fields.filter(({ contractType }) => contractType !== undefined);
  if (known.length === 0) return [];
  return [
    '',
    '  # What readers of the records can rely on; a record that breaks it is put aside.',
    '  contract:',
    "    version: '1'",
    '    on_breach: quarantine',
    '    fields:',
    ...known.map(({ name, contractType, isKey, isOptional }) => {
      const entry = {
        name,
        type: contractType ?? '',
        ...(isOptional === true ? { required: false } : {}),
        ...(isKey ? {} : { nullable: true }),
      };
      return `      - ${flow(entry)}`;
    }),
  ];
}

function block(key: string, value: JsonValue, indent: string): string[] {
  if (typeof value !== 'object' || Array.isArray(value)) return [`${indent}${key}: ${flow(value)}`];
  return stringify({ [key]: escaped(value) }, { lineWidth: 0, singleQuote: true })
    .trimEnd()
    .split('\n')
    .map((line) => indent + line);
}

function flow(value: JsonValue): string {
  // One sign is hard to see without quotes.
  if (typeof value === 'string' && value.length === 1 && /\W/.test(value))
    return value === '\t' ? '"\\t"' : `'${value}'`;
  const how = { collectionStyle: 'flow', lineWidth: 0, singleQuote: true } as const;
  return stringify(escaped(value), how).trim();
}

/** Names from elsewhere are no tokens; those that are meant as such are marked. */
function escaped(value: JsonValue): JsonValue {
  if (typeof value === 'string')
    return value
      .split(ENV_TOKEN)
      .map((part, index) => (index % 2 === 0 ? withEscapes(part) : part))
      .join('');
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [withEscapes(key), escaped(item)]),
  );
}

/** Written by `init` itself, for addresses that hold a password or a key. */
const ENV_TOKEN = /(\$\{env:HEADGATE_(?:FROM|TO)_[A-Z0-9_]+\})/;

/** The rules between the fields of a rest source. */
import { finding } from '../../../kit/schema.ts';
import { isHttpUrl } from '../../../lib/http/http-url.ts';
import { isBodyless } from '../../_http/fields.ts';
import type { OdataBlock } from './odata-config.ts';
import type { Pagination } from './pagination-config.ts';
import { instantOf } from '../../_http/positions.ts';
import type { JsonValue } from '../../../lib/text/json.ts';

interface Checked {
  readonly base_url: string;
  readonly path: string;
  readonly pagination: Pagination;
  readonly records_path?: string | undefined;
  readonly records_multi?: readonly unknown[] | undefined;
  readonly record_ancestors: readonly unknown[];
  readonly response_format: string;
  readonly decode?: readonly unknown[] | undefined;
  readonly async_job?: unknown;
  readonly odata?: OdataBlock | undefined;
  readonly method: string;
  readonly body?: JsonValue | undefined;
  readonly replication_method: { readonly type: string };
  readonly replication_key?: string | undefined;
  readonly start_replication_value?: JsonValue | undefined;
  readonly replication_bind?:
    | { readonly into: string; readonly advance_from?: string | undefined }
    | undefined;
  readonly window?:
    | { readonly lower: { readonly into: string }; readonly upper: { readonly into: string } }
    | undefined;
  readonly persist_cursor: boolean;
  readonly columns?: unknown;
  readonly infer_types: boolean;
  readonly on_error: 'error' | 'dlq';
  readonly partitions: readonly Readonly<Record<string, JsonValue>>[];
}

type Report = (path: string, code: string, message: string, hint?: string) => void;

export function checkConfig(
  config: Checked,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
): void {
  const report: Report = (path, code, message, hint) =>
    ctx.addIssue(finding(code, message, { path: [path], ...(hint === undefined ? {} : { hint }) }));
  checkAddress(config, report);
  checkBody(config, report);
  checkFormat(config, report);
  checkReplication(config, report);
  checkCursor(config, report);
  if (config.on_error === 'dlq' && config.columns === undefined && !config.infer_types)
    report(
      'on_error',
      'invalid_value',
      '`on_error: dlq` has nothing to do: without types every record of an answer can be read',
      'declare `columns`, or set `infer_types: true`',
    );
}

function checkAddress(config: Checked, report: Report): void {
  const absolute = config.async_job !== undefined || /^https?:\/\//i.test(config.path);
  if (config.base_url === '') {
    if (!absolute)
      report(
        'base_url',
        'missing_key',
        '`base_url` is required',
        'e.g. `base_url: https://api.example.com`',
      );
    return;
  }
  // A token that is filled in later cannot be judged yet.
  if (!isHttpUrl(config.base_url) && !config.base_url.includes('${'))
    report('base_url', 'invalid_value', '`base_url` is not an http or https address');
}

/** A body, or a value that goes into one, needs a method that has a body. */
function checkBody(config: Checked, report: Report): void {
  if (!isBodyless(config.method)) return;
  const { pagination, window, replication_bind: bind } = config;
  const inBody =
    pagination.type === 'CursorInBody' ||
    pagination.type === 'OffsetInBody' ||
    ('into' in pagination && pagination.into === 'body');
  const uses = [
    ['body', config.body !== undefined && config.async_job === undefined],
    ['pagination', inBody],
    ['replication_bind', bind?.into === 'body' && config.async_job === undefined],
    ['window', window?.lower.into === 'body' || window?.upper.into === 'body'],
  ] as const;
  for (const [field, used] of uses) {
    if (used)
      report(
        field,
        'invalid_value',
        `a ${config.method} request carries no body`,
        'set `method: POST`',
      );
  }
}

function checkFormat(config: Checked, report: Report): void {
  const single =
    config.decode !== undefined
      ? 'decode'
      : config.async_job !== undefined
        ? 'async_job'
        : undefined;
  const fileMode = config.response_format !== 'json' ? 'response_format' : undefined;
  const oneAnswer = single ?? fileMode;
  if (oneAnswer !== undefined && config.pagination.type !== 'None') {
    report(
      'pagination',
      'invalid_value',
      `\`${oneAnswer}\` reads one single answer, so there is no paging`,
      'remove `pagination`',
    );
  }
  if (config.decode !== undefined && fileMode !== undefined) {
    report(
      'response_format',
      'invalid_value',
      '`decode` replaces `response_format`',
      'keep one of them',
    );
  }
  const paths = ['records_path', 'records_multi'] as const;
  for (const field of paths) {
    if (config[field] === undefined) continue;
    if (fileMode !== undefined)
      report(
        field,
        'invalid_value',
        `\`${field}\` has no meaning for a file`,
        `remove \`${field}\``,
      );
    if (config.decode !== undefined)
      report(
        field,
        'invalid_value',
        `with \`decode\`, the records are found by \`parse.records_path\``,
        `move it there`,
      );
  }
  if (config.records_path !== undefined && config.records_multi !== undefined) {
    report(
      'records_multi',
      'invalid_value',
      '`records_path` and `records_multi` cannot stand together',
      'keep one of them',
    );
  }
  const located =
    config.records_path !== undefined ||
    config.records_multi !== undefined ||
    config.odata !== undefined;
  if (config.record_ancestors.length > 0 && !located) {
    report(
      'record_ancestors',
      'missing_key',
      '`record_ancestors` needs `records_path`',
      'say where the records are',
    );
  }
  if (
    config.odata !== undefined &&
    (oneAnswer !== undefined ||
      config.pagination.type !== 'None' ||
      config.records_multi !== undefined)
  ) {
    report(
      'odata',
      'invalid_value',
      '`odata` decides format, paging and records itself',
      'remove `pagination`, `decode`, `async_job`, `response_format` and `records_multi`',
    );
  }
}

function checkReplication(config: Checked, report: Report): void {
  const incremental = config.replication_method.type === 'Incremental';
  if (
    incremental &&
    config.replication_key === undefined &&
    config.replication_bind?.advance_from === undefined &&
    config.window === undefined
  ) {
    report(
      'replication_key',
      'missing_key',
      '`replication_method: Incremental` needs `replication_key`',
    );
  }
  for (const field of ['replication_bind', 'window'] as const) {
    if (config[field] === undefined) continue;
    if (!incremental)
      report(field, 'invalid_value', `\`${field}\` needs \`replication_method: Incremental\``);
    else if (config.replication_key === undefined)
      report('replication_key', 'missing_key', `\`${field}\` needs \`replication_key\``);
  }
  if (config.window === undefined) return;
  if (config.replication_bind !== undefined) {
    report(
      'replication_bind',
      'invalid_value',
      '`window` and `replication_bind` cannot stand together',
      'the window sends the bookmark itself',
    );
  }
  const start = config.start_replication_value;
  if (start === undefined) {
    report(
      'start_replication_value',
      'missing_key',
      '`window` needs `start_replication_value`',
      'say where the first slice starts',
    );
  } else if (
    instantOf(start) === undefined &&
    !(typeof start === 'string' && start.includes('${'))
  ) {
    report(
      'start_replication_value',
      'invalid_value',
      'a window cannot start here: this is not a time',
      'e.g. `"2025-01-01T00:00:00Z"`',
    );
  }
}

const CURSORS: ReadonlySet<string> = new Set(['Cursor', 'CursorInBody', 'RecordFieldCursor']);

function checkCursor(config: Checked, report: Report): void {
  if (!config.persist_cursor) return;
  if (!CURSORS.has(config.pagination.type)) {
    report(
      'persist_cursor',
      'invalid_value',
      '`persist_cursor` needs a cursor',
      'set `pagination` to Cursor, CursorInBody or RecordFieldCursor',
    );
  }
  if (config.replication_method.type === 'Incremental' || config.partitions.length > 0) {
    report(
      'persist_cursor',
      'invalid_value',
      '`persist_cursor` cannot stand with incremental replication or partitions',
      'there is only one bookmark',
    );
  }
}

/** Services that tell of a failure in an answer whose status says that all is well. */
import { ConnectorError } from '../../../lib/errors.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import { isObject, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import type { PageAnswer } from '../pagination/pagination.ts';
import type { RestSetup } from '../request/setup.ts';

const KEYS = ['error', 'errors'];

interface Place {
  /** Address of the page, safe to show. */
  readonly where: string;
  /** Whether the page before has named this one, so that it cannot be behind the last. */
  readonly isNamed: boolean | undefined;
}

/**
 * An answer that holds an error in the place of records would end the reading as if there were no
 * more. A page that the service has named itself must be there; others may be missing for good.
 */
export function noteFailure(
  { config, context }: RestSetup,
  { body, records }: PageAnswer,
  { where, isNamed }: Place,
): void {
  const { env } = context;
  if (isNamed === true && body === null)
    env.log.warn('a page that the service has named is empty', { page: where });
  if (records.length > 0 || !isObject(body)) return;
  if (config.records_path === undefined && config.records_multi === undefined) return;
  const key = Object.keys(body).find(
    (name) => KEYS.includes(name.toLowerCase()) && saysSomething(body[name]),
  );
  if (key === undefined) return;
  const said = excerptOf(stringifyJson(body[key] ?? null), env.redactor);
  const hint =
    'a rule of `retry_on_response` with `match_success: true` repeats the request after such answers';
  if (isNamed === true) {
    const text = `the answer of ${where} has no records, and \`${key}\` in it is: ${said}`;
    throw new ConnectorError('data', text, { hint });
  }
  env.log.warn('an answer has no records, and tells of an error', {
    page: where,
    [key]: said,
    hint,
  });
}

function saysSomething(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
}

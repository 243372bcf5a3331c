import { z } from 'zod';
import { boolean, finding, integer, json, number, optional, text } from '../../kit/schema.ts';
import { jsonEqual, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { jsonBody, readBody } from './body.ts';
import { compilePath, jsonPath } from './json-path.ts';
import { retryAfterMs } from '../../lib/http/status-kind.ts';

/** Decides whether a response means "try again", and after how long if it says so. */
export type ResponseRule = (
  response: Response,
  now: Date,
) => Promise<{ readonly waitMs?: number | undefined } | undefined>;

const matcher = z.lazy(() =>
  z
    .strictObject({
      status: optional(
        z.union([integer({ min: 100, max: 599 }), z.array(integer({ min: 100, max: 599 })).min(1)]),
      ).meta({
        description: 'Status, or list of statuses, that the response must have.',
      }),
      body_path: optional(jsonPath()).meta({
        description: 'JSONPath of the value in the body to check.',
        examples: ['$.error.code'],
      }),
      header: optional(text()).meta({ description: 'Header to check.' }),
      values: optional(z.array(json()).min(1)).meta({
        description: 'Accepted values of `body_path` or of the header; unset: any value.',
      }),
      match_success: boolean()
        .default(false)
        .meta({ description: 'Whether responses with a 2xx status are checked too.' }),
      backoff_from: optional(text()).meta({
        description:
          'Where the response says how long to wait: a header, or a JSONPath starting with `$` (seconds or an HTTP date).',
      }),
      backoff_secs: optional(number({ min: 0 })).meta({
        description: 'Seconds to wait when the response does not say; unset: `retry_backoff`.',
      }),
      max_wait_secs: number({ min: 0, max: 3600 })
        .default(3600)
        .meta({ description: 'Longest wait in seconds.' }),
    })
    .superRefine((value, ctx) => {
      if (
        value.status === undefined &&
        value.body_path === undefined &&
        value.header === undefined
      ) {
        ctx.addIssue(
          finding('missing_key', 'the rule would match every response', {
            hint: 'set `status`, `body_path` or `header`',
          }),
        );
      }
      if (value.body_path !== undefined && value.header !== undefined) {
        ctx.addIssue(
          finding('invalid_value', '`body_path` and `header` cannot be used together', {
            path: ['header'],
            hint: 'write two rules',
          }),
        );
      }
      if (
        value.values !== undefined &&
        value.body_path === undefined &&
        value.header === undefined
      ) {
        ctx.addIssue(
          finding('missing_key', '`values` needs `body_path` or `header`', { path: ['values'] }),
        );
      }
    }),
);

/** `retry_on_response`. */
export function responseRules() {
  return z.array(matcher).default([]).meta({
    description:
      'Responses that mean "try again later" although their status does not say so; the request is repeated up to `max_retries` times.',
  });
}

export type Matcher = z.infer<typeof matcher>;

export function compileRules(matchers: readonly Matcher[]): ResponseRule[] {
  return matchers.map(compileRule);
}

function compileRule(rule: Matcher): ResponseRule {
  const statuses = rule.status === undefined ? undefined : new Set([rule.status].flat());
  const read = rule.body_path === undefined ? undefined : compilePath(rule.body_path);
  const needsBody = read !== undefined || rule.backoff_from?.startsWith('$') === true;
  return async (response, now) => {
    if (response.ok && !rule.match_success) return undefined;
    if (statuses !== undefined && !statuses.has(response.status)) return undefined;
    const body = needsBody ? await peek(response) : undefined;
    if (read !== undefined && !isOneOf(body === undefined ? [] : read(body), rule.values))
      return undefined;
    if (rule.header !== undefined) {
      const value = response.headers.get(rule.header);
      if (!isOneOf(value === null ? [] : [value], rule.values?.map(jsonText))) return undefined;
    }
    const waitMs =
      waitInAnswer(rule, { response, body, now }) ??
      (rule.backoff_secs === undefined ? undefined : rule.backoff_secs * 1000);
    return {
      waitMs: waitMs === undefined ? undefined : Math.min(waitMs, rule.max_wait_secs * 1000),
    };
  };
}

function isOneOf(found: readonly JsonValue[], values: readonly JsonValue[] | undefined): boolean {
  return found.some((one) => values === undefined || values.some((value) => jsonEqual(one, value)));
}

function waitInAnswer(
  rule: Matcher,
  answer: { response: Response; body: JsonValue | undefined; now: Date },
): number | undefined {
  if (rule.backoff_from === undefined) return undefined;
  if (!rule.backoff_from.startsWith('$'))
    return retryAfterMs(answer.response.headers.get(rule.backoff_from), answer.now);
  const [found] = answer.body === undefined ? [] : compilePath(rule.backoff_from)(answer.body);
  return typeof found === 'number' || typeof found === 'string'
    ? retryAfterMs(String(found), answer.now)
    : undefined;
}

/** Reads a copy of the body; the original can still be read. `undefined` when it is not JSON. */
async function peek(response: Response): Promise<JsonValue | undefined> {
  const bytes = await readBody(response.clone(), 'the request');
  try {
    return jsonBody(bytes, 'the answer');
  } catch {
    return undefined;
  }
}

import { z } from 'zod';
import { finding, number, optional, text } from '../../kit/schema.ts';
import { isHttpUrl } from '../../lib/http/http-url.ts';

/** Fields that several connectors of this family share. */

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Control characters would end the header or the request; a header cannot contain characters beyond
// Latin-1.
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Header names and values; numbers and booleans become their text. */
export function headerMap() {
  return z.record(z.string(), scalarText()).superRefine((headers, ctx) => {
    for (const [name, value] of Object.entries(headers)) {
      if (!HEADER_NAME.test(name))
        ctx.addIssue(
          finding('invalid_value', `\`${name}\` is not a header name`, { path: [name] }),
        );
      if (!HEADER_VALUE.test(value))
        ctx.addIssue(
          finding(
            'invalid_value',
            'a header value must not contain line ends or characters beyond Latin-1',
            { path: [name] },
          ),
        );
    }
  });
}

/** Text; numbers and booleans (unquoted values in YAML) become their text. */
export function scalarText() {
  return z.preprocess(
    (value) =>
      typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
        ? String(value)
        : value,
    z.string(),
  );
}

/** Seconds for which a source waits for an answer where the document does not say. */
export const ANSWER_SECS = 30;

export function answerTimeout() {
  return optional(number({ min: 0.001, max: 86_400 })).meta({
    description: `Seconds to wait for an answer, from the request to its last byte; unset: ${ANSWER_SECS}.`,
  });
}

export function httpUrl(description: string) {
  return text()
    .superRefine((value, ctx) => {
      if (!isHttpUrl(value)) {
        ctx.addIssue(
          finding('invalid_value', 'this is not an http or https address', {
            hint: 'write it in full, e.g. `https://api.example.com`',
          }),
        );
      }
    })
    .meta({ description });
}

export function endpointUrl(
  description = 'Address of a store that speaks the same protocol.',
  example = 'https://minio.example.com:9000',
) {
  return optional(
    text().superRefine((url, ctx) => {
      if (isHttpUrl(url)) return;
      const hint = `write it in full: \`${example}\``;
      ctx.addIssue(finding('invalid_value', 'this is not an http or https address', { hint }));
    }),
  ).meta({ description });
}

/** `PageNumber`, `page_number`, `page-number` and `PAGENUMBER` are the same tag. */
export function spelled(tags: readonly string[]): (value: unknown) => unknown {
  const known = new Map(tags.map((tag) => [bareLetters(tag), tag]));
  return (value) => (typeof value === 'string' ? (known.get(bareLetters(value)) ?? value) : value);
}

function bareLetters(tag: string): string {
  return tag.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Normalises `tag`, `{type: tag}` and `{type: tag, config: {…}}` to `{type: Tag, …}`. */
export function tagged(tags: readonly string[]): (value: unknown) => unknown {
  const spell = spelled(tags);
  return (value) => {
    if (typeof value === 'string') return { type: spell(value) };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const { config, ...rest } = value as Record<string, unknown>;
    const nested =
      typeof config === 'object' && config !== null && !Array.isArray(config)
        ? config
        : config === undefined || config === null
          ? {}
          : { config };
    return { ...rest, ...nested, type: spell((value as Record<string, unknown>)['type']) };
  };
}

const NONE = 'None';

/** The same for what may be left out: `none`, also as a tag, is as good as absent. */
export function taggedOrNone(tags: readonly string[]): (value: unknown) => unknown {
  const normalised = tagged([...tags, NONE]);
  return (value) => {
    const found = normalised(value) as { readonly type?: unknown } | null | undefined;
    return found === null || found?.type === NONE ? undefined : found;
  };
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

/** An HTTP method; upper and lower case are accepted. */
export function httpMethod() {
  return z.preprocess(
    (value) => (typeof value === 'string' ? value.toUpperCase() : value),
    z.enum(METHODS),
  );
}

/** `fetch` sends no body with these. */
export function isBodyless(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * From the bytes of a request body to a checked value. Whatever was sent, the outcome is a value or
 * a refusal.
 */
import type { ZodType } from 'zod';
import { check } from '../../kit/schema.ts';
import { ConfigError, RefusedError, type Issue } from '../../lib/errors.ts';
import { parseJson, type JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { duplicateKey } from './duplicate-keys.ts';

export interface BodySource {
  readonly bytes: Uint8Array | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

export function readBody<B>(schema: ZodType<B>, source: BodySource, optional: boolean): B {
  const { bytes } = source;
  if (bytes === undefined || bytes.byteLength === 0) {
    if (!optional)
      throw refused([{ code: 'missing_body', path: '', message: 'a JSON body is required' }]);
    return checked(schema, {});
  }
  requireJson(source);
  const value = decode(bytes);
  refuseHostileShapes(value);
  return checked(schema, value);
}

function checked<B>(schema: ZodType<B>, value: unknown): B {
  const result = check(schema, value);
  if (!result.ok) throw refused(result.issues);
  return result.value;
}

function requireJson({ contentType, contentEncoding }: BodySource): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new RefusedError(
      'unsupported_media_type',
      `the content encoding ${JSON.stringify(contentEncoding)} is not supported`,
      {
        hint: 'send the body uncompressed',
      },
    );
  }
  const media = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (media === 'application/json' || /^application\/[\w.-]+\+json$/.test(media)) return;
  const found =
    media === ''
      ? 'the body has no content type'
      : `the content type ${JSON.stringify(media)} is not supported`;
  throw new RefusedError('unsupported_media_type', found, {
    hint: 'send `Content-Type: application/json`',
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw refused([{ code: 'syntax', path: '', message: 'the body is not valid UTF-8' }]);
  }
  const value = parsed(text);
  const twice = duplicateKey(text);
  if (twice !== undefined) throw refusedAt(twice, 'duplicate_key', 'stands twice in its object');
  return value;
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    throw refused([{ code: 'syntax', path: '', message: 'the body is not valid JSON' }]);
  }
}

/**
 * Deeper bodies would exhaust the stack of whatever walks them next; no request needs a tenth of
 * it.
 */
const DEPTH_LIMIT = 100;

interface Visit {
  readonly value: JsonValue;
  readonly path: readonly (string | number)[];
}

/**
 * Refuses what no storage takes (NUL, half of a character), what plain objects cannot hold safely (`__proto__`), and
 * bottomless nesting.
 */
function refuseHostileShapes(root: JsonValue): void {
  const open: Visit[] = [{ value: root, path: [] }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { value, path } = visit;
    if (typeof value === 'string') {
      if (value.includes('\0')) throw refusedAt(path, 'nul_character', 'holds a NUL character');
      if (!value.isWellFormed())
        throw refusedAt(path, 'half_character', 'holds half of a character (a lone surrogate)');
    } else if (typeof value === 'object' && value !== null) {
      if (path.length >= DEPTH_LIMIT)
        throw refusedAt(
          path.slice(0, 3),
          'too_deep',
          `is nested deeper than ${DEPTH_LIMIT} levels`,
        );
      if (Array.isArray(value))
        value.forEach((item, index) => open.push({ value: item, path: [...path, index] }));
      else visitFields(value, path, open);
    }
  }
}

function visitFields(
  value: { readonly [key: string]: JsonValue },
  path: readonly (string | number)[],
  open: Visit[],
): void {
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key.includes('\0') || !key.isWellFormed())
      throw refusedAt([...path, key], 'bad_key', 'is not a key that is allowed here');
    open.push({ value: item, path: [...path, key] });
  }
}

function refusedAt(path: readonly (string | number)[], code: string, message: string): ConfigError {
  return refused([{ code, path: joinPath('', ...path), message }]);
}

/** Every request that cannot be read is a 400. */
export function refused(issues: readonly Issue[]): ConfigError {
  return new ConfigError(issues, { stage: 'parse' });
}

export function tooLarge(limitBytes: number): RefusedError {
  return new RefusedError('payload_too_large', `the body is larger than ${limitBytes} bytes`, {
    hint: 'raise --body-limit-bytes if it must be',
  });
}

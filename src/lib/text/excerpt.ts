import type { Redactor } from '../redact.ts';

const EXCERPT_CHARS = 2048;

/**
 * How much of a body is enough for an excerpt: more than is shown, so that a secret at its end is
 * whole when it is hidden.
 */
export const EXCERPT_READ_BYTES = 4 * EXCERPT_CHARS;

/**
 * The start of an error body as messages may show it. Hidden before it is cut: half a secret would
 * not be found.
 */
export function excerptOf(body: string | Uint8Array, redactor: Redactor): string {
  const text = redactor
    .text(
      typeof body === 'string'
        ? body
        : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'),
    )
    .trim();
  return text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS)}…` : text;
}

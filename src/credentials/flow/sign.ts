import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/time/clock.ts';
import { SIGNATURE, type Signing } from './config.ts';
import { filled, type TemplateValues } from './template.ts';

/** The captured values with those that are made anew for each request. */
export function withRequestValues(captured: TemplateValues, clock: Clock): TemplateValues {
  const nowMs = clock.now().getTime();
  return new Map([
    ...captured,
    ['ts', String(Math.floor(nowMs / 1000))],
    ['ts_ms', String(nowMs)],
    ['nonce', randomBytes(16).toString('hex')],
  ]);
}

/** The header that carries the signature. */
export function signatureHeader(
  { key, template, encoding, into }: Signing,
  values: TemplateValues,
): Record<string, string> {
  const signature = createHmac('sha256', filled(key, values))
    .update(filled(template, values))
    .digest(encoding);
  const all = new Map([...values, [SIGNATURE, signature]]);
  return { [into.header]: filled(into.format, all) };
}

import type { Redactor } from '../../lib/redact.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { looksSecret } from '../_http/url.ts';

/** A program may say what stands in its config, in words that go to the log and into errors. */
export function registerSecrets(value: JsonValue, redactor: Redactor, isSecret = false): void {
  if (typeof value === 'string' && isSecret) redactor.register(value);
  if (Array.isArray(value)) for (const one of value) registerSecrets(one, redactor, isSecret);
  if (!isObject(value)) return;
  for (const [name, one] of Object.entries(value))
    registerSecrets(one, redactor, isSecret || looksSecret(name));
}

/**
 * Whether a document holds credentials as they are, in place of references to them. The text of
 * such a document is not kept when its run has ended.
 */
import { GRAMMAR } from '../blocks/index.ts';
import { editorSchema } from '../document/editor-schema.ts';
import { parseText } from '../document/parse/parse.ts';
import { secretValues } from '../document/secret-values.ts';
import type { Parts } from '../kit/parts.ts';
import type { JsonSchema } from '../kit/json-schema.ts';
import type { SubmittedDocument } from '../wire/submission.ts';

/** Without any of these words there is no place for a credential: most small documents. */
export const MAY_HOLD =
  /key|token|ur[il]|server|header|hmac|pass|pwd|value|secret|body|salt|cred|auth|cookie|sign|session|sas|code|client_config|connection_string|storage_options|\bproperties\b|\bform\b|\bjson\b|:\/\/|npm:|(?:tap|target|source|destination)_config|\benv\b/i;

let schema: JsonSchema | undefined;

/** Called for a document that was planned. */
export function holdsCredentials(
  { config, config_format: format, base }: SubmittedDocument,
  parts: Parts,
): boolean {
  return (
    isTextWithCredentials(config, format, parts) ||
    (base !== null && isTextWithCredentials(base, 'json', parts))
  );
}

function isTextWithCredentials(text: string, format: 'yaml' | 'json', parts: Parts): boolean {
  if (!MAY_HOLD.test(text)) return false;
  schema ??= editorSchema(parts, GRAMMAR);
  return secretValues(parseText(text, format, { kind: 'submitted' }).tree, schema).length > 0;
}

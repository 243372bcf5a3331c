import { z, type ZodType } from 'zod';
import type { CredentialContext, CredentialProvider } from '../kit/context.ts';
import { text } from '../kit/schema.ts';
import type { Redactor } from '../lib/redact.ts';
import {
  basic,
  bearer,
  fixed,
  namedHeader,
  namedHeaders,
  NO_CREDENTIAL,
  queryValue,
} from './placement.ts';
import type { Credential } from '../kit/context.ts';

/** A login defined in the config of a connector that needs no request before use. */
export interface InlineLogin {
  readonly config: ZodType;
  open(config: unknown, context: CredentialContext): CredentialProvider;
}

/** Types that are only allowed inside a connector. */
export const INLINE_LOGINS: Readonly<Record<string, InlineLogin>> = {
  none: inline(
    () => z.strictObject({}),
    () => NO_CREDENTIAL,
  ),
  bearer: inline(
    () => z.strictObject({ token: text() }),
    ({ token }, redactor) => bearer(token, redactor),
  ),
  basic: inline(
    () => z.strictObject({ username: text(), password: z.string() }),
    ({ username, password }, redactor) => basic(username, password, redactor),
  ),
  api_key: inline(
    () => z.strictObject({ header: text(), value: text() }),
    ({ header, value }, redactor) => namedHeader(header, value, redactor),
  ),
  api_key_query: inline(
    () => z.strictObject({ param: text(), value: text() }),
    ({ param, value }, redactor) => queryValue(param, value, redactor),
  ),
  custom: inline(
    () => z.strictObject({ headers: z.record(z.string(), z.string()) }),
    ({ headers }, redactor) => namedHeaders(headers, redactor),
  ),
};

/** Named types that are also allowed inside a connector; each gets its own provider. */
export const NAMED_TYPES_INLINE = ['oauth2', 'token_endpoint'] as const;

function inline<C>(
  schema: () => ZodType<C>,
  make: (config: C, redactor: Redactor) => Credential,
): InlineLogin {
  const config = z.lazy(schema);
  return {
    config,
    open: (value, { env }) => fixed(make(config.parse(value), env.redactor)),
  };
}

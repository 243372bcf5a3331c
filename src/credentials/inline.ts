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

/** A login that a connector writes in its own config and that needs no request to become usable. */
export interface InlineLogin {
  readonly config: ZodType;
  open(config: unknown, context: CredentialContext): CredentialProvider;
}

/** Inline types besides the named ones that may stand inline too. */
export const INLINE_LOGINS: Readonly<Record<string, InlineLogin>> = {
  none: inline(z.strictObject({}), () => NO_CREDENTIAL),
  bearer: inline(z.strictObject({ token: text() }), ({ token }, redactor) =>
    bearer(token, redactor),
  ),
  basic: inline(
    z.strictObject({ username: text(), password: z.string() }),
    ({ username, password }, redactor) => basic(username, password, redactor),
  ),
  api_key: inline(
    z.strictObject({ header: text(), value: text() }),
    ({ header, value }, redactor) => namedHeader(header, value, redactor),
  ),
  api_key_query: inline(
    z.strictObject({ param: text(), value: text() }),
    ({ param, value }, redactor) => queryValue(param, value, redactor),
  ),
  custom: inline(
    z.strictObject({ headers: z.record(z.string(), z.string()) }),
    ({ headers }, redactor) => namedHeaders(headers, redactor),
  ),
};

/** Named types that a connector may also write in place; each gets a provider of its own. */
export const NAMED_TYPES_INLINE = ['oauth2', 'token_endpoint'] as const;

function inline<C>(
  config: ZodType<C>,
  make: (config: C, redactor: Redactor) => Credential,
): InlineLogin {
  return {
    config,
    open: (value, { env }) => fixed(make(config.parse(value), env.redactor)),
  };
}

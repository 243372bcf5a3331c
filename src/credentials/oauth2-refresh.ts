import { resolve } from 'node:path';
import { z } from 'zod';
import { defineCredential } from '../kit/credential.ts';
import type { CredentialContext } from '../kit/context.ts';
import { optional, text } from '../kit/schema.ts';
import { permittedFile } from '../lib/files/file-access.ts';
import { isObject } from '../lib/text/json.ts';
import { clientFields, expiryRatio } from './fields.ts';
import { tokenOf } from './oauth2.ts';
import { TokenFile } from './token-file.ts';
import { cachedToken, type FreshToken } from './token-cache.ts';
import { requestToken } from './token-request.ts';

const persist = z.lazy(() =>
  z.strictObject({
    path: text().meta({
      description:
        'File that keeps the newest refresh token; relative paths start at the folder the process runs in.',
    }),
    key: optional(text()).meta({
      description: 'Name of the entry in the file; unset: made from `token_url` and `client_id`.',
    }),
  }),
);

const config = z.lazy(() =>
  z.strictObject({
    ...clientFields(),
    refresh_token: text().meta({
      description: 'First refresh token; a newer one from `persist` goes before it.',
      secret: true,
    }),
    expiry_ratio: expiryRatio(),
    persist: optional(persist).meta({
      description: 'Where a refresh token that the server replaced is kept for the next process.',
    }),
  }),
);

type RefreshConfig = z.infer<typeof config>;

export const oauth2RefreshCredential = defineCredential<RefreshConfig>({
  type: 'oauth2_refresh',
  description:
    'OAuth 2.0 with a refresh token, which may be replaced by the server with every use.',
  config,
  examples: [
    {
      token_url: 'https://login.example.com/token',
      client_id: 'mover',
      client_secret: 'abcd1234',
      refresh_token: 'r-0001',
      persist: { path: 'state/login.json' },
    },
  ],
  open(value, context) {
    context.env.redactor.register(value.client_secret);
    const refresh = new Refresh(value, context);
    return cachedToken({
      clock: context.env.clock,
      expiryRatio: value.expiry_ratio,
      request: () => refresh.token(),
    });
  },
});

/**
 * Holds the current refresh token. Calls of `token` do not overlap, because the cache runs one
 * request at a time.
 */
class Refresh {
  readonly #config: RefreshConfig;
  readonly #context: CredentialContext;
  readonly #file: TokenFile | undefined;
  #refreshToken: string;
  #seeded = false;

  constructor(value: RefreshConfig, context: CredentialContext) {
    this.#config = value;
    this.#context = context;
    this.#refreshToken = value.refresh_token;
    context.env.redactor.register(value.refresh_token);
    if (value.persist !== undefined) {
      this.#file = new TokenFile(
        permittedFile(resolve(context.env.cwd, value.persist.path)),
        value.persist.key ?? entryName(value),
      );
    }
  }

  async token(): Promise<FreshToken> {
    await this.#seed();
    const { token_url: url, client_id, client_secret } = this.#config;
    const body = {
      grant_type: 'refresh_token',
      refresh_token: this.#refreshToken,
      client_id,
      client_secret,
    };
    const answer = await requestToken(
      { url, method: 'POST', encoding: 'form', body },
      this.#context,
    );
    const fresh = tokenOf(answer, this.#context);
    const next = isObject(answer) ? answer['refresh_token'] : undefined;
    if (typeof next === 'string' && next !== '' && next !== this.#refreshToken)
      await this.#rotate(next);
    return fresh;
  }

  async #seed(): Promise<void> {
    if (this.#seeded || this.#file === undefined) return;
    this.#seeded = true;
    try {
      const kept = await this.#file.read();
      if (kept === undefined) return;
      this.#context.env.redactor.register(kept);
      this.#refreshToken = kept;
    } catch (error) {
      this.#warn('the kept refresh token cannot be read; the one in the document is used', error);
    }
  }

  async #rotate(next: string): Promise<void> {
    this.#context.env.redactor.register(next);
    this.#refreshToken = next;
    try {
      await this.#file?.write(next);
    } catch (error) {
      this.#warn(
        'the replaced refresh token cannot be kept; the next process will start with an old one',
        error,
      );
    }
  }

  #warn(sentence: string, error: unknown): void {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    this.#context.env.log.warn(sentence, { path: this.#config.persist?.path, why });
  }
}

function entryName({ token_url, client_id }: RefreshConfig): string {
  return `oauth2_refresh_${fnv1a64(Buffer.from(`${token_url}\0${client_id}`))}`;
}

/** 64-bit FNV-1a as 16 hex digits: a short name, not a secret. */
function fnv1a64(bytes: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

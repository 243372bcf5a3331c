/** Requests that say whose they are, to services of Amazon without a client of their own. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { Clock } from '../time/clock.ts';
import { loadClient } from '../load-client.ts';
import { identityOf, type AwsKeys } from './client-settings.ts';
import { awsError } from './errors.ts';

export interface Signing {
  /** Name of the service, as a signature has it. */
  readonly service: string;
  readonly region: string;
  /** What is found when absent: variables, profiles, the role of the machine. */
  readonly keys: AwsKeys | undefined;
  /** Requests to other places are sent as they are. */
  readonly origin: string;
}

const PACKAGES = '@smithy/signature-v4 @aws-sdk/credential-providers';

/** Signs each request anew (Signature Version 4): signatures hold for five minutes. */
export function signedFetch(signing: Signing, clock: Clock, send: typeof fetch): typeof fetch {
  let opened: ReturnType<typeof signerOf> | undefined;
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== signing.origin) return send(input, init);
    const headers = await signed(url, init);
    return send(input, { ...init, headers });
  };

  async function signed(url: URL, init: RequestInit): Promise<Record<string, string>> {
    try {
      const signer = await (opened ??= signerOf(signing));
      const request = {
        method: init.method ?? 'GET',
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: queryOf(url),
        headers: { ...Object.fromEntries(new Headers(init.headers)), host: url.host },
        body: init.body ?? undefined,
      };
      const { headers } = await signer.sign(request, { signingDate: clock.now() });
      delete headers['host'];
      return headers;
    } catch (error) {
      opened = undefined;
      throw awsError(error, `a request to ${url.host} cannot be signed`);
    }
  }
}

async function signerOf({ service, region, keys }: Signing) {
  const [{ SignatureV4 }, credentials] = await loadClient(PACKAGES, () =>
    Promise.all([import('@smithy/signature-v4'), keys ?? foundKeys(region)]),
  );
  return new SignatureV4({
    service,
    region,
    credentials: typeof credentials === 'function' ? credentials : identityOf(credentials),
    sha256: Sha256,
    applyChecksum: false,
  });
}

async function foundKeys(region: string) {
  const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
  return fromNodeProviderChain({ clientConfig: { region } });
}

function queryOf(url: URL): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
  return query;
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** With a secret it is the HMAC. */
class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = this.#fresh();
  }

  update(bytes: Bytes): void {
    this.#hash.update(viewOf(bytes));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#fresh();
  }

  #fresh(): Hash | Hmac {
    if (this.#secret === undefined) return createHash('sha256');
    return createHmac('sha256', viewOf(this.#secret));
  }
}

function viewOf(bytes: Bytes): string | NodeJS.ArrayBufferView {
  return bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : (bytes as string);
}

import type { IncomingMessage } from 'node:http';
import { RefusedError } from '../../lib/errors.ts';
import type { ServerOptions } from '../options.ts';
import { hostRefusal, noHost, originRefusal } from './host-rules.ts';
import { tooLarge } from './request-body.ts';

/** Why a request is refused whatever it asks for. */
export function earlyRefusal(
  { method, headers, raw }: Approach,
  { closing, limit, localOnly, isListed }: Rules,
): RefusedError | undefined {
  if (closing.aborted) return new RefusedError('unavailable', 'the server is shutting down');
  if (Number(headers['content-length']) > limit) return tooLarge(limit);
  if (raw.httpVersion === '1.1' && headers.host === undefined) return noHost();
  const origin = isListed ? undefined : headers.origin;
  return hostRefusal(raw.rawHeaders, localOnly) ?? originRefusal({ method, origin }, localOnly);
}

interface Approach {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly raw: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>;
}

interface Rules extends Pick<ServerOptions, 'localOnly'> {
  /** Fires when the server closes. */
  readonly closing: AbortSignal;
  /** Of a body, in bytes. */
  readonly limit: number;
  /** Its origin is one that `--cors-origin` names. */
  readonly isListed: boolean;
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHeldByClient, takesGzip, type Asset } from './assets.ts';

/**
 * What a page of ours may do: load what lies beside it, and ask this server. Nothing inline, nothing
 * from elsewhere, in nobody's frame; and no text becomes markup or script.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');
const YEAR_SECS = 31_536_000;

/**
 * Browsers ask again each time (`no-cache`), and get a 304 until the file changes; a file whose name
 * changes with its content is asked for once.
 */
export function sendFile(asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const gzipped = takesGzip(request.headers['accept-encoding']) ? asset.gzipped : undefined;
  // Another body is another entity.
  const etag = gzipped === undefined ? asset.etag : asset.etag.replace(/"$/, '-gz"');
  if (asset.gzipped !== undefined) addVary(reply, 'accept-encoding');
  reply.headers({
    etag,
    'cache-control': asset.isNamedByContent
      ? `public, max-age=${YEAR_SECS}, immutable`
      : 'no-cache',
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  if (isHeldByClient(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (gzipped !== undefined) reply.header('content-encoding', 'gzip');
  return reply.header('content-type', asset.contentType).send(gzipped ?? asset.bytes);
}

/** A page that says itself what it may do; here it is also kept from this origin, and from caches. */
export function sendPage(
  { html, fileName }: { readonly html: string; readonly fileName: string },
  reply: FastifyReply,
): FastifyReply {
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-disposition': `inline; filename="${fileName}"`,
    'cache-control': 'no-store',
    'content-security-policy': "sandbox; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  return reply.send(Buffer.from(html));
}

/** Keeps the `Vary: origin` of cross-origin answers. */
export function addVary(reply: FastifyReply, by: string): void {
  const before = reply.getHeader('vary');
  reply.header('vary', before === undefined ? by : `${String(before)}, ${by}`);
}

import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/**
 * HMAC-SHA256 (RFC 2104) of texts under one key, as hexadecimal digits. The padded key is made
 * once, and both digests are taken in one call each: a stream object for every text would cost
 * several times as much as the hashing.
 */
export function hmacSha256(key: string): (text: string) => string {
  const given = Buffer.from(key);
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(given.length > BLOCK_BYTES ? hash('sha256', given, 'buffer') : given);
  const inner = block.map((byte) => byte ^ INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ OUTER_PAD));
  const digestInner = innerDigest(inner);
  return (text) => {
    outer.write(digestInner(text), BLOCK_BYTES, 'latin1');
    return hash('sha256', outer, 'hex');
  };
}

/**
 * An ASCII key can be put before the text; any other key must be put before the bytes of the text.
 */
function innerDigest(inner: Uint8Array): (text: string) => string {
  if (inner.every((byte) => byte < 0x80)) {
    const prefix = Buffer.from(inner).toString('binary');
    return (text) => hash('sha256', prefix + text, 'binary');
  }
  return (text) => hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'binary');
}

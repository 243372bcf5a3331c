/** The checksums that stores keep of objects. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { CHECKSUMS, type Checksum, type Checksums } from '../../lib/objects/object-store.ts';
import { crc32c, Crc64Nvme } from './crc.ts';

export interface Digest {
  readonly name: Checksum;
  update(bytes: Uint8Array): void;
  /** In base64, as stores give it. */
  value(): string;
}

/** Computes the strongest of the checksums that a store has. */
export function digestFor(
  checksums: Checksums,
): { readonly digest: Digest; readonly expected: string } | undefined {
  for (const name of CHECKSUMS) {
    const expected = checksums[name];
    if (expected !== undefined) return { digest: digestOf(name), expected };
  }
  return undefined;
}

function digestOf(name: Checksum): Digest {
  switch (name) {
    case 'sha256':
    case 'md5':
      return hashed(name);
    case 'crc64nvme':
      return { name, ...new64() };
    case 'crc32c':
      return { name, ...of32(crc32c) };
    default:
      return { name, ...of32(crc32) };
  }
}

function hashed(name: 'sha256' | 'md5'): Digest {
  const hash = createHash(name);
  return { name, update: (bytes) => hash.update(bytes), value: () => hash.digest('base64') };
}

function of32(next: (bytes: Uint8Array, before: number) => number): Omit<Digest, 'name'> {
  let crc = 0;
  return {
    update: (bytes) => (crc = next(bytes, crc)),
    value: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(crc >>> 0);
      return bytes.toString('base64');
    },
  };
}

function new64(): Omit<Digest, 'name'> {
  const crc = new Crc64Nvme();
  return { update: (bytes) => crc.update(bytes), value: () => crc.bytes().toString('base64') };
}

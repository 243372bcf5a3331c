/** Parts of events that MariaDB compresses (`log_bin_compress`). */
import { inflateSync } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';

const ALGORITHM = 0x70;
const BYTES_OF_LENGTH = 0x07;

export function inflated(bytes: Buffer): Buffer {
  const head = bytes.readUInt8(0);
  const size = head & BYTES_OF_LENGTH;
  if ((head & ALGORITHM) !== 0 || size === 0 || size > 4)
    throw new ConnectorError(
      'data',
      'an event of the log is compressed in a way that is not known',
    );
  const length = bytes.readUIntBE(1, size);
  const found = inflateSync(bytes.subarray(1 + size), { maxOutputLength: Math.max(1, length) });
  if (found.length === length) return found;
  throw new ConnectorError('data', 'a compressed event of the log does not have its length');
}

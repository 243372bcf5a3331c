/** The stream format of Arrow; the only file here that loads its library. */
import type { RecordBatch } from 'apache-arrow';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';

export type Arrow = typeof import('apache-arrow');

export function loadArrow(): Promise<Arrow> {
  return loadClient('apache-arrow', () => import('apache-arrow'));
}

/** `otherwise`: how to do without Arrow, for the message. */
export function batchesIn(
  arrow: Arrow,
  bytes: Uint8Array,
  { what, otherwise }: { readonly what: string; readonly otherwise: string },
): readonly RecordBatch[] {
  try {
    return arrow.tableFromIPC(bytes).batches;
  } catch (error) {
    throw new ConnectorError('data', `${what} is no stream of Arrow`, {
      hint: `run it again, or ${otherwise}`,
      cause: error,
    });
  }
}

import { fnv1a64 } from '../lib/text/fnv.ts';

/** One of several parts of what a source reads: what has a name whose hash falls into it, or a number. */
export interface Share {
  /** From 0. */
  readonly index: number;
  readonly count: number;
}

/** Whether something of this name is in the share; all is where nothing is shared. */
export function isInShare(name: string, share: Share | undefined): boolean {
  return (
    share === undefined ||
    BigInt(`0x${fnv1a64(name)}`) % BigInt(share.count) === BigInt(share.index)
  );
}

/** Numbers from 0 go round the shares in turn. */
export function isNumberInShare(number: number, share: Share | undefined): boolean {
  return share === undefined || number % share.count === share.index;
}

/** Whether a row reads shares of what its source divides, and not ranges, by its plan. */
export function readsShares(shard: { count: number; readonly of?: string } | undefined): boolean {
  return shard?.of !== undefined;
}

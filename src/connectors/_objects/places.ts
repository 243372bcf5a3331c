/** Stores in which a connector of one format may have its files; documents name one by `type`. */
import type { PartContext } from '../../kit/context.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import type { Requesting } from './run-requests.ts';
import { openBucket, s3Address, type S3Config } from './s3-place.ts';

const STORES = ['s3'] as const;
type StoreType = (typeof STORES)[number];

export type StorePlace = { readonly type: 's3' } & S3Config;

/** Whether it is in a store, and not on this machine. */
export function isStored<P extends { readonly type: string }>(
  place: P,
): place is Extract<P, { readonly type: StoreType }> {
  return (STORES as readonly string[]).includes(place.type);
}

export function openPlace(
  place: StorePlace,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  return openBucket(place, context);
}

export function addressIn(place: StorePlace, prefix: string): string {
  return s3Address(place, prefix);
}

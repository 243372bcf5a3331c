/** Stores in which a connector of one format may have its files; documents name one by `type`. */
import type { PartContext } from '../../kit/context.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { azureAddress, openAzureContainer, type AzureConfig } from './azure-place.ts';
import { gcsAddress, openGcsBucket, type GcsConfig } from './gcs-place.ts';
import type { Requesting } from '../_http/run-requests.ts';
import { openBucket, s3Address, type S3Config } from './s3-place.ts';

const STORES = ['s3', 'gcs', 'azure-blob'] as const;
type StoreType = (typeof STORES)[number];

export type StorePlace =
  | ({ readonly type: 's3' } & S3Config)
  | ({ readonly type: 'gcs' } & GcsConfig)
  | ({ readonly type: 'azure-blob' } & AzureConfig);

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
  switch (place.type) {
    case 's3':
      return openBucket(place, context);
    case 'gcs':
      return openGcsBucket(place, context);
    default:
      return openAzureContainer(place, context);
  }
}

export function addressIn(place: StorePlace, prefix: string): string {
  switch (place.type) {
    case 's3':
      return s3Address(place, prefix);
    case 'gcs':
      return gcsAddress(place, prefix);
    default:
      return azureAddress(place, prefix);
  }
}

/** Where the objects of Google Cloud Storage are, and who asks for them. */
import type { PartContext } from '../../kit/context.ts';
import { text } from '../../kit/schema.ts';
import { openGcs } from '../../lib/objects/gcs-objects.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { googleAccount, googleAuth, type GoogleAuth } from '../_google/account.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';
import { endpointUrl } from '../_http/fields.ts';

export const gcsAuth = () => googleAuth('Nobody: for public buckets.');

export function gcsFields() {
  return {
    bucket: text().meta({ description: 'Name of the bucket.' }),
    auth: gcsAuth().optional().meta({
      description:
        'Who asks; `application_default` when absent, and `anonymous` where `storage_host` is given.',
    }),
    storage_host: endpointUrl(
      'Address of an emulator, or another way to the store.',
      'http://localhost:4443',
    ),
  };
}

export interface GcsConfig {
  readonly bucket: string;
  readonly auth?: GoogleAuth | undefined;
  readonly storage_host?: string | undefined;
}

/** A part of an object may take so long. */
const REQUEST_MS = 120_000;

export async function openGcsBucket(
  { bucket, auth: who, storage_host: endpoint }: GcsConfig,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  return openGcs(
    { bucket, endpoint, auth: who === undefined ? undefined : await googleAccount(who, context) },
    { requestMs: REQUEST_MS, run: runRequests(context) },
  );
}

export function gcsAddress({ bucket }: Pick<GcsConfig, 'bucket'>, prefix: string): string {
  return `gs://${bucket}/${prefix}`;
}

/** Where the objects of S3 are, and who asks for them. */
import type { PartContext } from '../../kit/context.ts';
import { boolean, optional, text } from '../../kit/schema.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { openS3 } from '../../lib/objects/s3-objects.ts';
import { awsFields, awsPlace, type AwsFields } from '../_aws/place.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';

export function s3Fields() {
  return {
    bucket: text().meta({ description: 'Name of the bucket.' }),
    ...awsFields('Region of the bucket; that of the environment when absent.'),
    force_path_style: optional(boolean()).meta({
      description:
        'Whether the bucket stands in the path of addresses; true with `endpoint_url` unless given.',
    }),
  };
}

export interface S3Config extends AwsFields {
  readonly bucket: string;
  readonly force_path_style?: boolean | undefined;
}

/** A part of an object may take so long. */
const REQUEST_MS = 120_000;

export function openBucket(
  config: S3Config,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  const { bucket, force_path_style: pathStyle } = config;
  return openS3(
    { ...awsPlace(config, context), bucket, pathStyle },
    { attempts: 1, requestMs: REQUEST_MS, run: runRequests(context) },
  );
}

export function s3Address({ bucket }: S3Config, prefix: string): string {
  return `s3://${bucket}/${prefix}`;
}

/** Where the objects of S3 are, and who asks for them. */
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { boolean, finding, optional, text } from '../../kit/schema.ts';
import { isHttpUrl } from '../../lib/http/http-url.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { openS3 } from '../../lib/objects/s3-objects.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';

const credentials = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('default').meta({
        description:
          'What the client finds: variables, the profile, web identity, the role of the machine.',
      }),
    }),
    z.strictObject({
      type: z.literal('access_key').meta({ description: 'An access key.' }),
      config: z
        .strictObject({
          access_key_id: text().meta({ description: 'Id of the key.' }),
          secret_access_key: text().meta({ description: 'Its secret.', secret: true }),
          session_token: optional(text()).meta({
            description: 'The token of a temporary key.',
            secret: true,
          }),
        })
        .meta({ description: 'The key.' }),
    }),
    z.strictObject({
      type: z.literal('profile').meta({
        description: 'A profile of `~/.aws`, which may take a role (`role_arn`).',
      }),
      config: z
        .strictObject({ profile: text().meta({ description: 'Name of the profile.' }) })
        .meta({ description: 'The profile.' }),
    }),
  ]);

export function s3Fields() {
  return {
    bucket: text().meta({ description: 'Name of the bucket.' }),
    region: optional(text()).meta({
      description: 'Region of the bucket; that of the environment when absent.',
    }),
    endpoint_url: endpointUrl(),
    force_path_style: optional(boolean()).meta({
      description:
        'Whether the bucket stands in the path of addresses; true with `endpoint_url` unless given.',
    }),
    credentials: optional(credentials()).meta({ description: 'Who asks; `default` when absent.' }),
  };
}

export function endpointUrl(
  description = 'Address of a store that speaks the same protocol.',
  example = 'https://minio.example.com:9000',
) {
  return optional(
    text().superRefine((url, ctx) => {
      if (isHttpUrl(url)) return;
      const hint = `write it in full: \`${example}\``;
      ctx.addIssue(finding('invalid_value', 'this is not an http or https address', { hint }));
    }),
  ).meta({ description });
}

export interface S3Config {
  readonly bucket: string;
  readonly region?: string | undefined;
  readonly endpoint_url?: string | undefined;
  readonly force_path_style?: boolean | undefined;
  readonly credentials?: z.output<ReturnType<typeof credentials>> | undefined;
}

/** A part of an object may take so long. */
const REQUEST_MS = 120_000;

export function openBucket(
  config: S3Config,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  const { credentials: who } = config;
  return openS3(
    {
      bucket: config.bucket,
      region: config.region,
      endpoint: config.endpoint_url,
      pathStyle: config.force_path_style,
      ...(who?.type === 'profile' ? { profile: who.config.profile } : {}),
      ...(who?.type === 'access_key'
        ? {
            keys: {
              accessKeyId: who.config.access_key_id,
              secretAccessKey: who.config.secret_access_key,
              sessionToken: who.config.session_token,
            },
          }
        : {}),
    },
    { attempts: 1, requestMs: REQUEST_MS, run: runRequests(context) },
  );
}

export function s3Address({ bucket }: S3Config, prefix: string): string {
  return `s3://${bucket}/${prefix}`;
}

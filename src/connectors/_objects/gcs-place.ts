/** Where the objects of Google Cloud Storage are, and who asks for them. */
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { text } from '../../kit/schema.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import type { GcsAuth } from '../../lib/objects/gcs-login.ts';
import { openGcs } from '../../lib/objects/gcs-objects.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { isObject, parseJson, type JsonValue } from '../../lib/text/json.ts';
import { resolvePath } from '../_files/paths.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';
import { endpointUrl } from '../_http/fields.ts';

export const gcsAuth = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('application_default').meta({
        description:
          'What the machine has: the file of GOOGLE_APPLICATION_CREDENTIALS, the login of the gcloud tool, or the account of the machine.',
      }),
    }),
    z.strictObject({
      type: z.literal('service_account_json_file').meta({
        description: 'The key of a service account, in a file.',
      }),
      config: z
        .strictObject({ path: text().meta({ description: 'The file.' }) })
        .meta({ description: 'Where the key is.' }),
    }),
    z.strictObject({
      type: z.literal('service_account_json_inline').meta({
        description: 'The key of a service account.',
      }),
      config: z
        .strictObject({
          json: z
            .preprocess((value) => (isObject(value) ? JSON.stringify(value) : value), text())
            .meta({ description: 'The key, as text or as an object.', secret: true }),
        })
        .meta({ description: 'The key.' }),
    }),
    z.strictObject({
      type: z.literal('anonymous').meta({ description: 'Nobody: for public buckets.' }),
    }),
  ]);

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
  readonly auth?: z.output<ReturnType<typeof gcsAuth>> | undefined;
  readonly storage_host?: string | undefined;
}

/** A part of an object may take so long. */
const REQUEST_MS = 120_000;
const LONGEST_KEY_BYTES = 1024 * 1024;

export async function openGcsBucket(
  { bucket, auth: who, storage_host: endpoint }: GcsConfig,
  context: Requesting & PartContext,
): Promise<ObjectStore> {
  return openGcs(
    { bucket, endpoint, auth: who === undefined ? undefined : await authOf(who, context) },
    { requestMs: REQUEST_MS, run: runRequests(context) },
  );
}

async function authOf(who: NonNullable<GcsConfig['auth']>, { env }: PartContext): Promise<GcsAuth> {
  switch (who.type) {
    case 'application_default':
    case 'anonymous':
      return { type: who.type };
    case 'service_account_json_inline':
      return accountOf(who.config.json, '`auth.config.json`');
    case 'service_account_json_file': {
      const { path } = who.config;
      return accountInFile(resolvePath(env.cwd, path), path);
    }
    default:
      return who satisfies never;
  }
}

/** `shown`: the path as it is written, for messages. */
export async function accountInFile(path: string, shown = path): Promise<GcsAuth> {
  return accountOf(await keyIn(path), shown);
}

async function keyIn(path: string): Promise<string> {
  try {
    return (await readRegular(path, { limitBytes: LONGEST_KEY_BYTES })).toString('utf8');
  } catch (error) {
    throw new ConnectorError('auth', `the key ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Other kinds of credentials name files, programs and addresses that are asked for a token: those
 * are for whoever runs this machine, and not for documents.
 */
export function accountOf(content: string, place: string): GcsAuth {
  const key = keyOf(content);
  const { client_email: email, private_key: secret, private_key_id: keyId } = key;
  if (key['type'] !== 'service_account' || typeof email !== 'string' || typeof secret !== 'string')
    throw new ConnectorError('auth', `${place} is not the key of a service account`, {
      hint: 'download a JSON key of the account; for anything else set GOOGLE_APPLICATION_CREDENTIALS and `type: application_default`',
    });
  return {
    type: 'service_account',
    email,
    key: secret,
    keyId: typeof keyId === 'string' ? keyId : undefined,
  };
}

function keyOf(content: string): Readonly<Record<string, JsonValue>> {
  try {
    const value = parseJson(content);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

export function gcsAddress({ bucket }: Pick<GcsConfig, 'bucket'>, prefix: string): string {
  return `gs://${bucket}/${prefix}`;
}

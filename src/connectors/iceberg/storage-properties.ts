/** Settings of stores, by the names that other programs for Iceberg use. */
import type { StorePlace } from '../_objects/places.ts';

export type StorageProperties = Readonly<Record<string, string>>;

/** Each with its names; the first one that is given counts. */
const S3 = {
  endpoint: ['s3.endpoint'],
  id: ['s3.access-key-id', 'client.access-key-id'],
  secret: ['s3.secret-access-key', 'client.secret-access-key'],
  token: ['s3.session-token', 'client.session-token'],
  region: ['s3.region', 'client.region'],
  pathStyle: ['s3.path-style-access'],
  hostStyle: ['s3.force-virtual-addressing'],
} as const;

const GCS = {
  endpoint: ['gcs.service.host', 'gcs.service-host', 'gcs.service.path'],
  noAuth: ['gcs.no-auth', 'gcs.allow-anonymous'],
  key: ['gcs.credentials-json'],
  keyPath: ['gcs.credentials-path'],
} as const;

export const STORAGE_NAMES: readonly string[] = [
  ...Object.values(S3),
  ...Object.values(GCS),
].flat();

const SWITCHES: ReadonlySet<string> = new Set([...S3.pathStyle, ...S3.hostStyle, ...GCS.noAuth]);

/** What is wrong with a setting, or `undefined`. */
export function storageFault(name: string, value: string): string | undefined {
  if (SWITCHES.has(name) && !/^(?:true|false)$/i.test(value))
    return 'this is neither `true` nor `false`';
  return undefined;
}

export function storageFaults(
  given: StorageProperties,
): readonly { readonly name: string; readonly message: string; readonly hint: string }[] {
  const one = (names: readonly string[]) => first(given, names);
  const [id, secret] = [one(S3.id), one(S3.secret)];
  if ((id === undefined) !== (secret === undefined))
    return [
      {
        name: id === undefined ? S3.secret[0] : S3.id[0],
        message: 'a key has an id and a secret',
        hint: `set \`${S3.id[0]}\` and \`${S3.secret[0]}\`, or neither`,
      },
    ];
  return [];
}

/** Where objects of this scheme and bucket are, and who asks for them. */
export function placeIn(
  scheme: string,
  bucket: string,
  given: StorageProperties,
): { readonly place?: StorePlace; readonly fault?: string } {
  const one = (names: readonly string[]) => first(given, names);
  if (bucket === '') return { fault: 'it names no bucket' };
  switch (scheme) {
    case 's3':
    case 's3a':
    case 's3n': {
      const [id, secret] = [one(S3.id), one(S3.secret)];
      const hostStyle = one(S3.hostStyle)?.toLowerCase() === 'true';
      const pathStyle = one(S3.pathStyle)?.toLowerCase();
      return {
        place: {
          type: 's3',
          bucket,
          region: one(S3.region),
          endpoint_url: one(S3.endpoint),
          force_path_style: hostStyle
            ? false
            : pathStyle === undefined
              ? undefined
              : pathStyle === 'true',
          ...(id === undefined || secret === undefined
            ? {}
            : {
                credentials: {
                  type: 'access_key' as const,
                  config: {
                    access_key_id: id,
                    secret_access_key: secret,
                    session_token: one(S3.token),
                  },
                },
              }),
        },
      };
    }
    case 'gs':
    case 'gcs': {
      const [json, path] = [one(GCS.key), one(GCS.keyPath)];
      const auth =
        one(GCS.noAuth)?.toLowerCase() === 'true'
          ? { type: 'anonymous' as const }
          : json !== undefined
            ? { type: 'service_account_json_inline' as const, config: { json } }
            : path === undefined
              ? undefined
              : { type: 'service_account_json_file' as const, config: { path } };
      return { place: { type: 'gcs', bucket, auth, storage_host: one(GCS.endpoint) } };
    }
    default:
      return { fault: `files at \`${scheme}://\` cannot be reached` };
  }
}

function first(given: StorageProperties, names: readonly string[]): string | undefined {
  return names.map((name) => given[name]).find((value) => value !== undefined && value !== '');
}

/** What nobody may see in a message. */
export function secretsIn(given: StorageProperties): string[] {
  const names = [...S3.secret, ...S3.token, ...GCS.key];
  return names.flatMap((name) => given[name] ?? []).filter((value) => value !== '');
}

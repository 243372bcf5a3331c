/** Settings of stores, by the names that other programs for Iceberg use. */
import type { StorePlace } from '../_objects/places.ts';

export type StorageProperties = Readonly<Record<string, string>>;

/** For all services of Amazon. */
export const CLIENT = {
  id: ['client.access-key-id'],
  secret: ['client.secret-access-key'],
  token: ['client.session-token'],
  region: ['client.region'],
} as const;

/** Each with its names; the first one that is given counts. */
const S3 = {
  endpoint: ['s3.endpoint'],
  id: ['s3.access-key-id', ...CLIENT.id],
  secret: ['s3.secret-access-key', ...CLIENT.secret],
  token: ['s3.session-token', ...CLIENT.token],
  region: ['s3.region', ...CLIENT.region],
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
  return SWITCHES.has(name) ? switchFault(value) : undefined;
}

export function switchFault(value: string): string | undefined {
  return /^(?:true|false)$/i.test(value) ? undefined : 'this is neither `true` nor `false`';
}

interface KeyFault {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
}

export function storageFaults(given: StorageProperties): readonly KeyFault[] {
  return keyFaults(given, S3);
}

/** Half a key is none. */
export function keyFaults(
  given: StorageProperties,
  names: Readonly<Record<'id' | 'secret', readonly [string, ...string[]]>>,
): readonly KeyFault[] {
  const [id, secret] = [firstOf(given, names.id), firstOf(given, names.secret)];
  if ((id === undefined) === (secret === undefined)) return [];
  return [
    {
      name: id === undefined ? names.secret[0] : names.id[0],
      message: 'a key has an id and a secret',
      hint: `set \`${names.id[0]}\` and \`${names.secret[0]}\`, or neither`,
    },
  ];
}

/** Where objects of this scheme and bucket are, and who asks for them. */
export function placeIn(
  scheme: string,
  bucket: string,
  given: StorageProperties,
): { readonly place?: StorePlace; readonly fault?: string } {
  const one = (names: readonly string[]) => firstOf(given, names);
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

/** The first one that is there and not empty. */
export function firstOf(
  given: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string | undefined {
  return names.map((name) => given[name]).find((value) => value !== undefined && value !== '');
}

/** What nobody may see in a message. */
export function secretsIn(given: StorageProperties): string[] {
  const names = [...S3.secret, ...S3.token, ...GCS.key];
  return names.flatMap((name) => given[name] ?? []).filter((value) => value !== '');
}

/** Where a table is, and who asks: what `table_uri`, `credentials` and `storage_options` say together. */
import type { StorePlace } from '../_objects/places.ts';
import { readStoreOptions, type StoreKind, type StoreOptions } from './storage-options.ts';

type Login<T extends string, F extends string> = {
  readonly type: T;
  readonly config: { readonly [name in F]?: string | undefined };
};

/** As the config schema parses them. */
export type Credentials =
  | { readonly type: 'default' }
  | {
      readonly type: 'aws';
      readonly config: Login<'aws', AwsField>['config'] & {
        readonly allow_http?: boolean | undefined;
      };
    }
  | Login<'azure', 'account_name' | 'access_key' | 'sas_token'>
  | Login<'gcp', 'service_account_path' | 'service_account_key'>;

type AwsField = 'access_key_id' | 'secret_access_key' | 'session_token' | 'region' | 'endpoint_url';

export interface TableConfig {
  readonly table_uri: string;
  readonly credentials?: Credentials | undefined;
  readonly storage_options?: Readonly<Record<string, string>> | undefined;
}

export type TablePlace =
  | { readonly type: 'local'; readonly path: string }
  | { readonly type: 'stored'; readonly store: StorePlace; readonly prefix: string };

export interface PlaceFault {
  readonly path: readonly string[];
  readonly message: string;
  readonly hint: string;
}

const SCHEMES: Readonly<Record<string, StoreKind | 'file'>> = {
  file: 'file',
  s3: 's3',
  s3a: 's3',
  gs: 'gs',
  gcs: 'gs',
  abfss: 'abfss',
  abfs: 'abfss',
};
const OWN_CREDENTIALS: Readonly<Record<string, StoreKind>> = {
  aws: 's3',
  gcp: 'gs',
  azure: 'abfss',
};

/** The faults are empty exactly when there is a place. */
export function placeOf(config: TableConfig): {
  readonly place?: TablePlace;
  readonly faults: readonly PlaceFault[];
} {
  const { table_uri: uri, credentials } = config;
  const [, scheme = 'file', rest = uri] = /^([a-zA-Z][a-zA-Z0-9+.-]+):\/\/(.*)$/s.exec(uri) ?? [];
  const kind = SCHEMES[scheme.toLowerCase()];
  if (kind === undefined)
    return fault(
      'table_uri',
      `tables cannot be at \`${scheme}://\``,
      'use a path, or `file://`, `s3://`, `gs://` or `abfss://`',
    );
  const needs = OWN_CREDENTIALS[credentials?.type ?? ''];
  if (needs !== undefined && needs !== kind)
    return fault(
      'credentials',
      `\`${credentials?.type}\` is not who asks for ${kind} tables`,
      'remove the block, or correct `table_uri`',
    );
  if (kind === 'file') {
    if (Object.keys(config.storage_options ?? {}).length > 0)
      return fault('storage_options', 'a table on this machine has no options', 'remove them');
    return { place: { type: 'local', path: uri }, faults: [] };
  }
  const [, authority = '', below = ''] = /^([^/]*)\/*(.*?)\/*$/s.exec(rest) ?? [];
  if (authority === '' || below === '')
    return fault(
      'table_uri',
      'this names no table in a store',
      `write it as \`${EXAMPLES[kind]}\``,
    );
  const options = readStoreOptions(kind, config.storage_options);
  if (options.faults.length > 0)
    return {
      faults: options.faults.map(({ option, message, hint }) => ({
        path: ['storage_options', option],
        message,
        hint,
      })),
    };
  const { store, faults } = STORES[kind](authority, credentials, options);
  return store === undefined || faults.length > 0
    ? { faults }
    : { place: { type: 'stored', store, prefix: `${below}/` }, faults };
}

const EXAMPLES: Readonly<Record<StoreKind, string>> = {
  s3: 's3://bucket/path/of/table',
  gs: 'gs://bucket/path/of/table',
  abfss: 'abfss://container@account.dfs.core.windows.net/path/of/table',
};

interface MadeStore {
  readonly store?: StorePlace;
  readonly faults: readonly PlaceFault[];
}

type MakeStore = (
  authority: string,
  credentials: Credentials | undefined,
  options: StoreOptions,
) => MadeStore;

const STORES: Readonly<Record<StoreKind, MakeStore>> = {
  s3(bucket, credentials, { given }) {
    const own = credentials?.type === 'aws' ? credentials.config : {};
    const id = given['accessKeyId'] ?? own.access_key_id;
    const secret = given['secretAccessKey'] ?? own.secret_access_key;
    const token = given['sessionToken'] ?? own.session_token;
    const endpoint = given['endpoint'] ?? own.endpoint_url;
    const allows =
      given['allowHttp'] === undefined ? own.allow_http : given['allowHttp'] === 'true';
    if ((id === undefined) !== (secret === undefined))
      return fault(
        'credentials',
        'a key has an id and a secret',
        'set `access_key_id` and `secret_access_key`, or neither',
      );
    if (token !== undefined && id === undefined)
      return fault(
        'credentials',
        'a session token needs its key',
        'set `access_key_id` and `secret_access_key`',
      );
    const open = unencrypted(endpoint, allows);
    if (open !== undefined) return open;
    return {
      faults: [],
      store: {
        type: 's3',
        bucket,
        region: given['region'] ?? own.region,
        endpoint_url: endpoint,
        force_path_style: given['hostStyle'] === 'true' ? false : undefined,
        ...(id === undefined || secret === undefined
          ? {}
          : {
              credentials: {
                type: 'access_key' as const,
                config: { access_key_id: id, secret_access_key: secret, session_token: token },
              },
            }),
      },
    };
  },
  gs(bucket, credentials, { given }) {
    const own = credentials?.type === 'gcp' ? credentials.config : {};
    const key = given['accountKey'] ?? own.service_account_key;
    const path = given['accountPath'] ?? own.service_account_path;
    if (
      given['accountKey'] === undefined &&
      given['accountPath'] === undefined &&
      own.service_account_key !== undefined &&
      own.service_account_path !== undefined
    )
      return fault(
        'credentials',
        'one key is enough',
        'set `service_account_path` or `service_account_key`',
      );
    const auth =
      given['anonymous'] === 'true'
        ? { type: 'anonymous' as const }
        : key !== undefined && given['accountPath'] === undefined
          ? { type: 'service_account_json_inline' as const, config: { json: key } }
          : path === undefined
            ? undefined
            : { type: 'service_account_json_file' as const, config: { path } };
    return { faults: [], store: { type: 'gcs', bucket, auth, storage_host: given['endpoint'] } };
  },
  abfss(authority, credentials, { given }) {
    const own = credentials?.type === 'azure' ? credentials.config : {};
    const [, container = '', host = ''] = /^([^@]+)(?:@(.+))?$/.exec(authority) ?? [];
    const [named = '', ...domain] = host.split('.');
    const account = given['account'] ?? own.account_name ?? (named === '' ? undefined : named);
    const emulator = given['emulator'] === 'true';
    if (account === undefined && !emulator)
      return fault(
        'table_uri',
        'the storage account is not named',
        `write it as \`${EXAMPLES.abfss}\`, or set \`account_name\``,
      );
    const { clientId, clientSecret, tenantId } = given;
    const principal = [clientId, clientSecret, tenantId].filter((one) => one !== undefined);
    if (principal.length !== 0 && principal.length !== 3)
      return fault(
        'storage_options',
        'a service principal has an id, a secret and a tenant',
        'set `client_id`, `client_secret` and `tenant_id`',
      );
    const endpoint =
      given['endpoint'] ??
      (domain.length === 0 || emulator || account === undefined
        ? undefined
        : `https://${account}.${domain.join('.').replace(/^dfs\./, 'blob.')}`);
    const allows = given['allowHttp'] === 'true' || emulator;
    const open = unencrypted(endpoint, allows);
    if (open !== undefined) return open;
    const [key, sas] =
      given['accessKey'] === undefined && given['sasToken'] !== undefined
        ? [undefined, given['sasToken']]
        : [given['accessKey'] ?? own.access_key, own.sas_token];
    const auth =
      key !== undefined
        ? { type: 'account_key' as const, config: { account_key: key } }
        : sas !== undefined
          ? { type: 'sas_token' as const, config: { sas_token: sas } }
          : clientId !== undefined && clientSecret !== undefined && tenantId !== undefined
            ? {
                type: 'service_principal' as const,
                config: { client_id: clientId, client_secret: clientSecret, tenant_id: tenantId },
              }
            : undefined;
    return {
      faults: [],
      store: {
        type: 'azure-blob',
        container,
        account,
        auth,
        endpoint,
        allow_http: allows,
        use_emulator: emulator,
      },
    };
  },
};

function unencrypted(endpoint: string | undefined, allows: boolean | undefined) {
  if (endpoint?.startsWith('http:') !== true || allows === true) return undefined;
  return fault(
    'storage_options',
    'the address of the store is not encrypted',
    'use https, or set `allow_http: true`',
  );
}

function fault(field: string, message: string, hint: string): { faults: readonly PlaceFault[] } {
  return { faults: [{ path: [field], message, hint }] };
}

/** What nobody may see in a message. */
export function secretsOf({ credentials, storage_options: options = {} }: TableConfig): string[] {
  const own = credentials === undefined || credentials.type === 'default' ? {} : credentials.config;
  const settings = [...Object.entries(options), ...Object.entries(own)];
  return settings.flatMap(([name, value]) =>
    typeof value === 'string' && /secret|token|sas|(?:access|account|master)_key$/i.test(name)
      ? [value]
      : [],
  );
}

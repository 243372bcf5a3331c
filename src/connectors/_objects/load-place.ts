/**
 * The store that a database loads objects from: where it is, and how this program logs in there.
 */
import { ConnectorError } from '../../lib/errors.ts';
import type { PartContext } from '../../kit/context.ts';
import { openAzure } from '../../lib/objects/azure-objects.ts';
import type { AzureAuth } from '../../lib/objects/azure-login.ts';
import type { GcsAuth } from '../../lib/objects/gcs-login.ts';
import { openGcs } from '../../lib/objects/gcs-objects.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { openS3 } from '../../lib/objects/s3-objects.ts';
import { isObject, parseJson } from '../../lib/text/json.ts';
import { runRequests } from '../_http/run-requests.ts';
import { STAGING_REQUEST_MS } from './staged-objects.ts';

const OPTIONS = {
  s3: [
    'aws_access_key_id',
    'aws_secret_access_key',
    'aws_session_token',
    'aws_region',
    'aws_endpoint',
  ],
  gcs: ['google_service_account_key', 'google_endpoint'],
  azure: [
    'azure_storage_account_name',
    'azure_storage_account_key',
    'azure_storage_sas_token',
    'azure_endpoint',
  ],
} as const;

export const STORE_OPTIONS: readonly string[] = Object.values(OPTIONS).flat();

export interface StageConfig {
  readonly url: string;
  readonly storage_options: Readonly<Record<string, string>>;
}

interface Place {
  readonly kind: keyof typeof OPTIONS;
  readonly bucket: string;
  readonly prefix: string;
  /** Of Azure, where the address names it. */
  readonly host?: string | undefined;
}

/** `abfss://container@account.dfs.core.windows.net/folder`, as the services of Azure write it. */
const ABFSS = /^abfss:\/\/([^@/\s]+)@([^./\s]+)\.dfs\.([^/\s]+)\/?(.*)$/;

function placeInAzure(url: string): Place | undefined {
  const [match, container = '', account = '', domain = '', folder = ''] = ABFSS.exec(url) ?? [];
  if (match === undefined) return undefined;
  return { kind: 'azure', host: `${account}.blob.${domain}`, bucket: container, prefix: folder };
}

function placeOf(url: string): Place | undefined {
  const azure = placeInAzure(url);
  if (azure !== undefined) return azure;
  const [, scheme = '', first = '', rest = ''] = /^(\w+):\/\/([^/\s]+)\/?(.*)$/.exec(url) ?? [];
  if (first === '') return undefined;
  switch (scheme) {
    case 's3':
      return { kind: 's3', bucket: first, prefix: rest };
    case 'gcs':
    case 'gs':
      return { kind: 'gcs', bucket: first, prefix: rest };
    case 'az':
      return { kind: 'azure', bucket: first, prefix: rest };
    case 'azure': {
      const [container = '', ...path] = rest.split('/');
      return container === ''
        ? undefined
        : { kind: 'azure', host: first, bucket: container, prefix: path.join('/') };
    }
    default:
      return undefined;
  }
}

interface Fault {
  readonly path: readonly string[];
  readonly message: string;
  readonly hint: string;
}

/** What of the settings cannot work. */
export function stageFault({ url, storage_options: options }: StageConfig): Fault | undefined {
  const place = placeOf(url);
  if (place === undefined)
    return {
      path: ['url'],
      message: 'this is no place of objects',
      hint: 'write `s3://bucket/folder`, `gcs://bucket/folder`, or `azure://account.blob.core.windows.net/container/folder`',
    };
  const known: readonly string[] = OPTIONS[place.kind];
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    return {
      path: ['storage_options', other],
      message: `\`${other}\` is no setting of this store`,
      hint: `it has: ${known.join(', ')}`,
    };
  const half = HALVES.find(
    ([one, two]) => (options[one] === undefined) !== (options[two] === undefined),
  );
  if (half !== undefined)
    return {
      path: ['storage_options'],
      message: `\`${half[0]}\` and \`${half[1]}\` are needed together`,
      hint: 'write both, or none',
    };
  const account = options['azure_storage_account_name'] ?? options['azure_endpoint'] ?? place.host;
  if (place.kind === 'azure' && account === undefined)
    return {
      path: ['storage_options'],
      message: 'the account of the container is not named',
      hint: 'set `azure_storage_account_name`',
    };
  return undefined;
}

const HALVES = [['aws_access_key_id', 'aws_secret_access_key']] as const;

/** The folder of the stage. */
export function stageFolder({ url }: StageConfig): string {
  return placeOf(url)?.prefix ?? '';
}

export async function openStageStore(
  { url, storage_options: options }: StageConfig,
  context: Pick<PartContext, 'env'>,
): Promise<ObjectStore> {
  const place = placeOf(url);
  if (place === undefined) throw new ConnectorError('refused', `\`${url}\` is no place of objects`);
  for (const [name, value] of Object.entries(options))
    if (SECRETS.test(name)) context.env.redactor.register(value);
  const { bucket } = place;
  const requests = { attempts: 1, requestMs: STAGING_REQUEST_MS, run: runRequests(context) };
  switch (place.kind) {
    case 's3':
      return openS3({ bucket, ...s3Settings(options) }, requests);
    case 'gcs': {
      const endpoint = options['google_endpoint'];
      return openGcs({ bucket, endpoint, auth: gcsAuth(options, endpoint) }, requests);
    }
    case 'azure':
      return openAzure({ container: bucket, at: azureAccount(place, options) }, requests);
    default:
      return place.kind satisfies never;
  }
}

const SECRETS = /secret|token|key$/;

type Options = StageConfig['storage_options'];

function s3Settings(options: Options) {
  const { aws_access_key_id: id, aws_secret_access_key: secret } = options;
  const sessionToken = options['aws_session_token'];
  return {
    region: options['aws_region'],
    endpoint: options['aws_endpoint'],
    pathStyle: undefined,
    login:
      id === undefined || secret === undefined
        ? undefined
        : ({
            type: 'keys',
            keys: { accessKeyId: id, secretAccessKey: secret, sessionToken },
          } as const),
  };
}

function gcsAuth(options: Options, endpoint: string | undefined): GcsAuth | undefined {
  const text = options['google_service_account_key'];
  if (text === undefined) return endpoint === undefined ? undefined : { type: 'anonymous' };
  const key = readKey(text);
  const { client_email: email, private_key: pem } = isObject(key) ? key : {};
  if (typeof email !== 'string' || typeof pem !== 'string')
    throw new ConnectorError(
      'auth',
      '`google_service_account_key` is no key of a service account',
      {
        hint: 'write the JSON of the key',
      },
    );
  return { type: 'service_account', email, key: pem };
}

function readKey(text: string) {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function azureAccount({ host }: Place, options: Options) {
  const name = options['azure_storage_account_name'] ?? host?.split('.')[0] ?? '';
  const endpoint =
    options['azure_endpoint'] ?? `https://${host ?? `${name}.blob.core.windows.net`}`;
  const { azure_storage_account_key: key, azure_storage_sas_token: token } = options;
  const auth: AzureAuth =
    key !== undefined
      ? { type: 'account_key', account: name, key }
      : token === undefined
        ? { type: 'default' }
        : { type: 'sas_token', token };
  return { endpoint, auth };
}

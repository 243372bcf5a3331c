/** Loads rows by objects: this program writes them, and the server reads them. */
import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import { outputId } from '../../../kit/output-id.ts';
import type { AwsLogin } from '../../../lib/aws/client-settings.ts';
import { openGcs } from '../../../lib/objects/gcs-objects.ts';
import type { ObjectStore } from '../../../lib/objects/object-store.ts';
import { openS3 } from '../../../lib/objects/s3-objects.ts';
import { isObject } from '../../../lib/text/json.ts';
import { runRequests } from '../../_http/run-requests.ts';
import {
  putObject,
  removeStaged,
  STAGING_REQUEST_MS,
  stagedKey,
} from '../../_objects/staged-objects.ts';
import type { Staging } from '../config.ts';
import { literal } from '../read/literals.ts';
import { backticked, quoted, tableName } from '../types/quote.ts';
import { csvLine } from './csv-line.ts';
import { dedupSettings, readingSettings, type Loader, type Loading, type Rows } from './loading.ts';

const GCS = 'https://storage.googleapis.com';

const COMPRESS: Readonly<
  Record<
    Staging['compression'],
    { readonly suffix: string; pack(text: string): Promise<Uint8Array> }
  >
> = {
  none: { suffix: '', pack: (text) => Promise.resolve(Buffer.from(text)) },
  gzip: { suffix: '.gz', pack: (text) => promisify(gzip)(text) },
  zstd: { suffix: '.zst', pack: (text) => promisify(zstdCompress)(text) },
};

export async function openStagedLoader(loading: Loading, staging: Staging): Promise<Loader> {
  const { context } = loading;
  if (staging.secret_key !== undefined) context.env.redactor.register(staging.secret_key);
  return new StagedLoader(loading, staging, await openStore(staging, loading));
}

class StagedLoader implements Loader {
  readonly #loading: Loading;
  readonly #staging: Staging;
  readonly #store: ObjectStore;
  #loads = 0;

  constructor(loading: Loading, staging: Staging, store: ObjectStore) {
    this.#loading = loading;
    this.#staging = staging;
    this.#store = store;
  }

  async load(rows: Rows): Promise<void> {
    const { link, facts, context } = this.#loading;
    this.#loads += 1;
    const id = `${outputId(context)}-${this.#loads}`;
    const key = this.#keyOf(id);
    await this.#upload(key, rows);
    try {
      await link.run({
        text: this.#statement(key, rows),
        settings: { ...readingSettings(facts), ...dedupSettings(facts, id) },
        isRepeatable: false,
      });
    } catch (error) {
      if (this.#staging.cleanup === 'always') await this.#remove(key);
      throw error;
    }
    if (this.#staging.cleanup !== 'never') await this.#remove(key);
  }

  #keyOf(id: string): string {
    const { format, compression } = this.#staging;
    const { prefix } = placeOf(this.#staging);
    return `${stagedKey(prefix, id)}.${format}${COMPRESS[compression].suffix}`;
  }

  async #upload(key: string, { lines, columns }: Rows): Promise<void> {
    const { format, compression } = this.#staging;
    const texts = format === 'csv' ? lines.map((line) => csvLine(line, columns)) : lines;
    const bytes = await COMPRESS[compression].pack(`${texts.join('\n')}\n`);
    await putObject(this.#store, key, {
      bytes,
      contentType: format === 'csv' ? 'text/csv' : 'application/x-ndjson',
      signal: this.#loading.context.signal,
    });
  }

  #statement(key: string, { columns }: Rows): string {
    const { format, compression, access_key: id, secret_key: secret, copy_options } = this.#staging;
    const names = columns.map(({ name }) => backticked(name)).join(', ');
    const structure = columns.map(({ name, sqlType }) => `${backticked(name)} ${sqlType}`);
    const values = [
      urlOf(this.#staging, key),
      ...(id === undefined || secret === undefined ? [] : [id, secret]),
      format === 'csv' ? 'CSV' : 'JSONEachRow',
      structure.join(', '),
      compression,
    ];
    const options = isObject(copy_options)
      ? Object.entries(copy_options).map(([name, value]) => `${name} = ${literal(value ?? null)}`)
      : [];
    const settings = options.length === 0 ? '' : ` SETTINGS ${options.join(', ')}`;
    const { table } = this.#loading.config;
    return `INSERT INTO ${tableName(table)} (${names}) SELECT ${names} FROM s3(${values.map(quoted).join(', ')})${settings}`;
  }

  async #remove(key: string): Promise<void> {
    await removeStaged(this.#store, key, this.#loading.context);
  }
}

interface Place {
  readonly scheme: 's3' | 'gs';
  readonly bucket: string;
  readonly prefix: string;
}

function placeOf({ location }: Staging): Place {
  const [match, scheme = 's3', bucket = '', prefix = ''] =
    /^(s3|gs):\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
  if (match !== undefined) return { scheme: scheme as 's3' | 'gs', bucket, prefix };
  throw new ConnectorError('refused', `\`${location}\` is no place of objects`);
}

/** Where the server finds the object. */
function urlOf(staging: Staging, key: string): string {
  const { scheme, bucket } = placeOf(staging);
  const path = key.split('/').map(encodeURIComponent).join('/');
  const { endpoint, region } = staging;
  const base = endpoint ?? (scheme === 'gs' ? GCS : undefined);
  if (base !== undefined) return `${base.replace(/\/+$/, '')}/${bucket}/${path}`;
  const host = region === undefined ? 's3.amazonaws.com' : `s3.${region}.amazonaws.com`;
  return `https://${bucket}.${host}/${path}`;
}

/** With a key, buckets of Google are written by the protocol of S3, as the server reads them. */
function openStore(staging: Staging, { context }: Loading): Promise<ObjectStore> {
  const { scheme, bucket } = placeOf(staging);
  const { endpoint, region, access_key: id, secret_key: secret } = staging;
  const requests = { attempts: 1, requestMs: STAGING_REQUEST_MS, run: runRequests(context) };
  if (scheme === 'gs' && id === undefined)
    return openGcs({ bucket, endpoint, auth: undefined }, requests);
  const login: AwsLogin | undefined =
    id === undefined || secret === undefined
      ? undefined
      : { type: 'keys', keys: { accessKeyId: id, secretAccessKey: secret } };
  const at = endpoint ?? (scheme === 'gs' ? GCS : undefined);
  return openS3({ bucket, region, endpoint: at, login, pathStyle: undefined }, requests);
}

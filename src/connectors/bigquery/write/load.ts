/** Collects records in objects of Google Cloud Storage, which a job loads. */
import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../lib/errors.ts';
import type { ObjectStore, ObjectUpload } from '../../../lib/objects/object-store.ts';
import { openGcs } from '../../../lib/objects/gcs-objects.ts';
import type { SinkContext } from '../../../kit/context.ts';
import { stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import { googleAccount } from '../../_google/account.ts';
import { openGcsBucket } from '../../_objects/gcs-place.ts';
import { runRequests } from '../../_http/run-requests.ts';
import type { BigquerySinkConfig, BulkLoad } from '../config.ts';
import { runLoad } from '../jobs.ts';
import type { Link } from '../link.ts';

const REQUEST_MS = 120_000;

interface Loading {
  readonly config: BigquerySinkConfig;
  readonly bulk: BulkLoad;
  readonly context: SinkContext;
  readonly link: Link;
}

export async function openLoader(loading: Loading): Promise<Loader> {
  return new Loader(loading, await openStore(loading));
}

async function openStore({ config, bulk, context }: Loading): Promise<ObjectStore> {
  const { staging_bucket: bucket, gcs_auth: auth, storage_host } = bulk;
  if (auth !== undefined || storage_host !== undefined)
    return openGcsBucket({ bucket, auth, storage_host }, context);
  return openGcs(
    { bucket, endpoint: undefined, auth: await googleAccount(config.auth, context) },
    { requestMs: REQUEST_MS, run: runRequests(context) },
  );
}

/** One object at a time; it is loaded and removed by `load`. */
export class Loader {
  readonly #loading: Loading;
  readonly #store: ObjectStore;
  #upload: ObjectUpload | undefined;
  #key = '';

  constructor(loading: Loading, store: ObjectStore) {
    this.#loading = loading;
    this.#store = store;
  }

  async add(rows: readonly JsonObject[]): Promise<void> {
    if (rows.length === 0) return;
    const upload = (this.#upload ??= this.#begin());
    await upload.write(Buffer.from(rows.map((row) => `${stringifyJson(row)}\n`).join('')));
  }

  #begin(): ObjectUpload {
    const { bulk, context } = this.#loading;
    this.#key = `${bulk.staging_prefix}svc-load-${context.invocationId}-${randomUUID()}.jsonl`;
    return this.#store.upload(this.#key, {
      contentType: 'application/x-ndjson',
      sendsParts: true,
      concurrency: 1,
      signal: context.signal,
    });
  }

  /**
   * Loads what was added: all of it or nothing. Without records there is nothing to do, but where the
   * rows of the table are replaced. `schema`: the columns that a replaced table keeps.
   */
  async load(schema?: JsonObject): Promise<void> {
    const { bulk, context } = this.#loading;
    if (this.#upload === undefined && bulk.write_disposition !== 'WRITE_TRUNCATE') return;
    const upload = (this.#upload ??= this.#begin());
    try {
      await upload.end();
      await upload.commit();
    } catch (error) {
      await this.abort();
      throw error;
    }
    this.#upload = undefined;
    try {
      await this.#run(this.#key, schema);
    } finally {
      await this.#remove(this.#key, context);
    }
  }

  async #run(key: string, schema: JsonObject | undefined): Promise<void> {
    const { config, bulk, link } = this.#loading;
    await runLoad(link, 'loading an object', {
      destinationTable: {
        projectId: config.project_id,
        datasetId: config.dataset_id,
        tableId: config.table_id,
      },
      sourceUris: [`gs://${bulk.staging_bucket}/${key}`],
      sourceFormat: 'NEWLINE_DELIMITED_JSON',
      createDisposition: 'CREATE_NEVER',
      writeDisposition: bulk.write_disposition,
      maxBadRecords: 0,
      ...(schema === undefined ? {} : { schema }),
    });
  }

  /** Gives up what was added and not loaded. */
  async abort(): Promise<void> {
    const upload = this.#upload;
    this.#upload = undefined;
    await upload?.abort().catch(() => {});
  }

  /** What was loaded is loaded; an object that stays is no reason to fail. */
  async #remove(key: string, { env }: SinkContext): Promise<void> {
    try {
      await this.#store.remove(key, new AbortController().signal);
    } catch (error) {
      env.log.warn('an object of a load could not be removed', {
        object: this.#store.address + key,
        reason: messageOf(error),
      });
    }
  }

  close(): void {
    this.#store.close();
  }
}

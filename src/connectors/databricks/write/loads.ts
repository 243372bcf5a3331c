/** Rows by objects: this program writes them, and COPY INTO loads them. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { SinkContext } from '../../../kit/context.ts';
import { outputId } from '../../../kit/output-id.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { ObjectStore } from '../../../lib/objects/object-store.ts';
import { openStageStore } from '../../_objects/load-place.ts';
import { putObject, removeStaged, stagedKey } from '../../_objects/staged-objects.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import type { TextRow } from '../../_sql/text-rows.ts';
import type { Staging } from '../config.ts';
import { backticked, literal } from '../names.ts';
import type { Link } from '../session/link.ts';
import { folderOf, isVolume } from './staging-place.ts';
import { readText } from './texts.ts';

/** Where objects are put. */
export interface ObjectPlace {
  readonly ending: string;
  put(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  close(): void;
}

interface Parts {
  readonly staging: Staging;
  readonly context: SinkContext;
  readonly link: Link;
}

export async function openPlace(parts: Parts): Promise<ObjectPlace> {
  const { staging, context } = parts;
  if (isVolume(staging)) return volumePlace(parts);
  const { location: url, storage_options } = staging;
  return storePlace(parts, await openStageStore({ url, storage_options }, context));
}

function storePlace({ staging, context }: Parts, store: ObjectStore): ObjectPlace {
  const folder = folderOf(staging);
  return {
    ending: '.txt.gz',
    put: async (file, text) =>
      putObject(store, folder + file, {
        bytes: await promisify(gzip)(text),
        contentType: 'application/gzip',
        signal: context.signal,
      }),
    remove: (file) => removeStaged(store, folder + file, context),
    close: () => store.close(),
  };
}

const FILES = '/api/2.0/fs/files';

/** By the API for files, with the login of the workspace. */
function volumePlace({ staging, context, link }: Parts): ObjectPlace {
  const pathOf = (file: string): string =>
    FILES + (folderOf(staging) + file).split('/').map(encodeURIComponent).join('/');
  return {
    ending: '.txt',
    async put(file, text) {
      const body = { text, type: 'application/octet-stream' };
      await link.ask({ method: 'PUT', path: `${pathOf(file)}?overwrite=true`, body });
    },
    async remove(file) {
      try {
        await link.ask({ method: 'DELETE', path: pathOf(file), isLast: true });
      } catch (error) {
        context.env.log.warn('an object of a staged load could not be removed', {
          object: folderOf(staging) + file,
          reason: messageOf(error),
        });
      }
    },
    close: () => {},
  };
}

export class StagedLoads {
  readonly #parts: Parts;
  readonly #place: ObjectPlace;
  #loads = 0;

  constructor(parts: Parts, place: ObjectPlace) {
    this.#parts = parts;
    this.#place = place;
  }

  /** Writes the rows to an object, and loads it. */
  async load(table: string, rows: EncodedRows<TextRow>): Promise<void> {
    const { staging, context, link } = this.#parts;
    this.#loads += 1;
    const file = stagedKey('', `${outputId(context)}-${this.#loads}`) + this.#place.ending;
    await this.#place.put(file, rows.rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    try {
      await link.run({
        text: this.#statement(table, rows.columns, file),
        // The table knows the objects that it has loaded.
        isRepeatable: staging.copy_options['force']?.toLowerCase() !== 'true',
      });
    } catch (error) {
      if (staging.cleanup === 'always') await this.#place.remove(file);
      throw error;
    }
    if (staging.cleanup !== 'never') await this.#place.remove(file);
  }

  #statement(table: string, columns: EncodedRows<TextRow>['columns'], file: string): string {
    const { location, copy_options } = this.#parts.staging;
    const row = "from_json(value, 'array<string>')";
    const values = columns.map(
      (column, at) => `${readText(column, `${row}[${at}]`)} AS ${backticked(column.name)}`,
    );
    const options = Object.entries(copy_options).map(
      ([name, value]) => `${literal(name)} = ${literal(value)}`,
    );
    const given = options.length === 0 ? '' : ` COPY_OPTIONS (${options.join(', ')})`;
    return `COPY INTO ${table} FROM (SELECT ${values.join(', ')} FROM ${literal(location)}) FILEFORMAT = TEXT FILES = (${literal(file)})${given}`;
  }

  close(): void {
    this.#place.close();
  }
}

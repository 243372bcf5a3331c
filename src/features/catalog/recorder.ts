/** Writes movements into a catalog, behind the back of the runs that made them: gathered, bounded, never failing a run. */
import type { CatalogStore } from '../../history/catalog.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { memo } from '../../lib/memo.ts';
import type { InferredSchema, Movement } from '../../wire/catalog.ts';
import { datasetId } from './canonical.ts';
import { gainOf } from './gain.ts';
import { compareSchemas, schemaHash } from './schemas.ts';

const GATHER_MS = 500;
const QUEUE = 50_000;
const REMEMBERED = 10_000;
/** Another instance may add a version at the same time; not again and again. */
const TRIES = 5;

interface KnownSchema {
  readonly version: number;
  readonly hash: string | undefined;
  readonly schema: InferredSchema | undefined;
}

export class CatalogRecorder {
  readonly #store: CatalogStore;
  readonly #env: Pick<Env, 'log'>;
  readonly #schemas = new Map<string, KnownSchema>();
  readonly #idOf = memo(datasetId, REMEMBERED);
  readonly #hashOf = memo((schema) => schemaHash(JSON.parse(schema) as InferredSchema), REMEMBERED);
  #queue: Movement[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(store: CatalogStore, env: Pick<Env, 'log'>) {
    this.#store = store;
    this.#env = { log: env.log.at('headgate::catalog') };
  }

  record(movements: readonly Movement[]): void {
    const room = QUEUE - this.#queue.length;
    this.#queue.push(...movements.slice(0, room));
    this.#dropped += Math.max(0, movements.length - room);
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS).unref();
  }

  /** Resolves when everything recorded so far is in the catalog, or was given up. */
  settled(): Promise<void> {
    if (this.#queue.length > 0) this.#flush();
    return this.#writing;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const movements = this.#queue;
    this.#queue = [];
    this.#writing = this.#writing.then(() => this.#write(movements));
  }

  async #write(movements: readonly Movement[]): Promise<void> {
    const lost = this.#dropped;
    this.#dropped = 0;
    if (lost > 0) this.#env.log.warn('movements were not recorded: the catalog is too slow', { movements: lost });
    try {
      await this.#store.addMovements(gainOf(movements, this.#idOf));
      for (const movement of movements) {
        for (const { uri, schema } of movement.datasets) if (schema !== undefined) await this.#noteSchema(uri, schema, movement);
      }
    } catch (error) {
      this.#schemas.clear();
      this.#env.log.warn('movements could not be recorded in the catalog', { movements: movements.length, error: messageOf(error) });
    }
  }

  async #noteSchema(uri: string, schema: InferredSchema, { run_id, recorded_at }: Movement): Promise<void> {
    const id = this.#idOf(uri);
    const hash = this.#hashOf(JSON.stringify(schema));
    if (this.#schemas.get(id)?.hash === hash) return;
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const known = await this.#knownSchema(id);
      if (known.hash === hash) return this.#remember(id, known);
      const version = known.version + 1;
      const diff = known.schema === undefined ? {} : { diff: compareSchemas(known.schema, schema) };
      const entry = { dataset_id: id, version, recorded_at, run_id, schema: { ...schema }, schema_hash: hash, ...diff };
      if (await this.#store.addSchema(entry)) return this.#remember(id, { version, hash, schema });
      this.#schemas.delete(id);
    }
  }

  async #knownSchema(id: string): Promise<KnownSchema> {
    const remembered = this.#schemas.get(id);
    if (remembered !== undefined) return remembered;
    const stored = await this.#store.getDataset(id);
    return {
      version: stored?.schema_versions ?? 0,
      hash: stored?.current_schema_hash,
      // It was inferred by this program.
      schema: stored?.current_schema as InferredSchema | undefined,
    };
  }

  #remember(id: string, known: KnownSchema): void {
    this.#schemas.delete(id);
    this.#schemas.set(id, known);
    if (this.#schemas.size <= REMEMBERED) return;
    const [oldest] = this.#schemas.keys();
    if (oldest !== undefined) this.#schemas.delete(oldest);
  }
}

/**
 * Writes movements into a catalog, behind the back of the runs that made them: gathered, bounded,
 * never failing a run.
 */
import { datasetId } from '../../engine/observe/canonical-uri.ts';
import type { CatalogStore, CurrentSchema } from '../../history/catalog.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { memo } from '../../lib/memo.ts';
import { parseWith } from '../../lib/text/json.ts';
import type { InferredSchema, Movement, SchemaVersion } from '../../wire/catalog.ts';
import { gainOf } from './gain.ts';
import { compareSchemas, schemaHash } from './schemas.ts';

const GATHER_MS = 500;
const QUEUE = 50_000;
const REMEMBERED = 10_000;
/** Another instance may add a version at the same time; not again and again. */
const TRIES = 5;

/** What a run saw of a data set. */
interface Sighting {
  readonly id: string;
  readonly hash: string;
  readonly schema: InferredSchema;
  readonly run_id: string;
  readonly recorded_at: string;
}

export class CatalogRecorder {
  readonly #store: CatalogStore;
  readonly #env: Pick<Env, 'log'>;
  readonly #schemas = new Map<string, CurrentSchema>();
  readonly #idOf = memo(datasetId, REMEMBERED);
  readonly #hashOf = memo(
    (schema) => schemaHash(parseWith(schema, undefined) as unknown as InferredSchema),
    REMEMBERED,
  );
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
    if (lost > 0)
      this.#env.log.warn('movements were not recorded: the catalog is too slow', {
        movements: lost,
      });
    try {
      await this.#store.addMovements(gainOf(movements, this.#idOf));
      await this.#noteSchemas(movements.flatMap((movement) => this.#sightingsOf(movement)));
    } catch (error) {
      this.#schemas.clear();
      this.#env.log.warn('movements could not be recorded in the catalog', {
        movements: movements.length,
        error: messageOf(error),
      });
    }
  }

  #sightingsOf({ datasets, run_id, recorded_at }: Movement): Sighting[] {
    return datasets.flatMap(({ uri, schema }) =>
      schema === undefined
        ? []
        : [
            {
              id: this.#idOf(uri),
              hash: this.#hashOf(JSON.stringify(schema)),
              schema,
              run_id,
              recorded_at,
            },
          ],
    );
  }

  /**
   * One version of each data set at a time: what follows it depends on whether another instance was
   * faster.
   */
  async #noteSchemas(sightings: readonly Sighting[]): Promise<void> {
    const known = new Map<string, CurrentSchema>();
    let open = [...Map.groupBy(sightings, ({ id }) => id).values()];
    for (let lost = 0; lost < TRIES;) {
      await this.#learn(new Set(open.flatMap((seen) => seen[0]?.id ?? [])), known);
      open = open.map((seen) => withoutKnown(seen, known)).filter((seen) => seen.length > 0);
      if (open.length === 0) return;
      const next = open.flatMap(([first]) =>
        first === undefined ? [] : [versionAfter(known.get(first.id), first)],
      );
      const added = await this.#store.addSchemas(next);
      if (!added.every(Boolean)) lost += 1;
      for (const [
        index,
        { dataset_id: id, version, schema, schema_hash: hash },
      ] of next.entries()) {
        if (added[index] === true) known.set(id, { version, schema, hash });
        else known.delete(id);
        this.#remember(id, known.get(id));
      }
    }
  }

  async #learn(ids: ReadonlySet<string>, known: Map<string, CurrentSchema>): Promise<void> {
    for (const id of ids) {
      const remembered = known.get(id) ?? this.#schemas.get(id);
      if (remembered !== undefined) known.set(id, remembered);
    }
    const unknown = [...ids].filter((id) => !known.has(id));
    if (unknown.length === 0) return;
    for (const [id, current] of await this.#store.currentSchemas(unknown)) {
      known.set(id, current);
      this.#remember(id, current);
    }
  }

  #remember(id: string, current: CurrentSchema | undefined): void {
    this.#schemas.delete(id);
    if (current === undefined) return;
    this.#schemas.set(id, current);
    if (this.#schemas.size <= REMEMBERED) return;
    const [oldest] = this.#schemas.keys();
    if (oldest !== undefined) this.#schemas.delete(oldest);
  }
}

/** From the first schema on that is another one than the newest. */
function withoutKnown(
  seen: readonly Sighting[],
  known: ReadonlyMap<string, CurrentSchema>,
): Sighting[] {
  const fresh = seen.findIndex(({ id, hash }) => known.get(id)?.hash !== hash);
  return fresh === -1 ? [] : seen.slice(fresh);
}

function versionAfter(
  current: CurrentSchema | undefined,
  { id, hash, schema, run_id, recorded_at }: Sighting,
): SchemaVersion {
  // It was inferred by this program.
  const before = current?.schema as InferredSchema | undefined;
  return {
    dataset_id: id,
    version: (current?.version ?? 0) + 1,
    recorded_at,
    run_id,
    schema: { ...schema },
    schema_hash: hash,
    ...(before === undefined ? {} : { diff: compareSchemas(before, schema) }),
  };
}

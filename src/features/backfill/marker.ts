/** Which units of a backfill are done, kept in the state store of its row. */
import { AppError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { StateStore } from '../../kit/state-store.ts';

/** `running`: started, and not known to have ended. */
export type UnitStatus = 'done' | 'running' | { readonly failed: string };

type Statuses = ReadonlyMap<string, UnitStatus>;

export class Marker {
  readonly #store: Pick<StateStore, 'get' | 'put'>;
  readonly #key: string;
  readonly #descriptor: string;
  readonly #units: Map<string, UnitStatus>;
  #restarts: number;
  /** Units may end at the same time: writes run one after the other, each with all units. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(where: MarkerPlace, units: Statuses, restarts: number) {
    this.#store = where.store;
    this.#key = where.key;
    this.#descriptor = where.descriptor;
    this.#units = new Map(units);
    this.#restarts = restarts;
  }

  static async open(where: MarkerPlace): Promise<Marker> {
    const stored = await where.store.get(where.key);
    if (stored === undefined) return new Marker(where, new Map(), 0);
    const units =
      isObject(stored) && isObject(stored['units']) ? statusesOf(stored['units']) : undefined;
    if (!isObject(stored) || units === undefined) {
      throw new AppError(
        'bad_marker',
        `what is stored under \`${where.key}\` is not a record of a backfill`,
        {
          hint: 'delete it, or choose another range',
        },
      );
    }
    return new Marker(
      where,
      units,
      typeof stored['restarts'] === 'number' ? stored['restarts'] : 0,
    );
  }

  /** How often the backfill was restarted. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Whether any unit was started. */
  get isBegun(): boolean {
    return this.#units.size > 0;
  }

  statusOf(unit: string): UnitStatus | undefined {
    return this.#units.get(unit);
  }

  count(is: (status: UnitStatus) => boolean): number {
    return [...this.#units.values()].filter(is).length;
  }

  /** Resolves when it is stored. */
  set(unit: string, status: UnitStatus): Promise<void> {
    this.#units.set(unit, status);
    return this.#write();
  }

  /** All units will run again. */
  restart(): Promise<void> {
    this.#units.clear();
    this.#restarts += 1;
    return this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#store.put(this.#key, this.#value()));
    return this.#writing;
  }

  #value(): JsonObject {
    const units = Object.fromEntries(
      [...this.#units].map(([id, status]) => [
        id,
        typeof status === 'string' ? status : { ...status },
      ]),
    );
    return {
      descriptor: this.#descriptor,
      units,
      ...(this.#restarts === 0 ? {} : { restarts: this.#restarts }),
    };
  }
}

export interface MarkerPlace {
  readonly store: Pick<StateStore, 'get' | 'put'>;
  readonly key: string;
  readonly descriptor: string;
}

export function isFailed(status: UnitStatus | undefined): status is { readonly failed: string } {
  return typeof status === 'object';
}

function statusesOf(units: JsonObject): Statuses | undefined {
  const statuses = new Map<string, UnitStatus>();
  for (const [id, value] of Object.entries(units)) {
    const status = statusOf(value);
    if (status === undefined) return undefined;
    statuses.set(id, status);
  }
  return statuses;
}

function statusOf(value: JsonValue): UnitStatus | undefined {
  if (value === 'done' || value === 'running') return value;
  return isObject(value) && typeof value['failed'] === 'string'
    ? { failed: value['failed'] }
    : undefined;
}

/** Joins pages: the build side is taken in whole, then each probe page is enriched. */
import { RunError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { JoinSpec } from '../../document/structure/topology.ts';
import { BuildIndex, type Match } from './build-index.ts';
import { moveSpelling } from '../../lib/text/number-spelling.ts';
import { copyJson } from './copy-json.ts';
import { joinKey, pathCopier, pathReader } from './join-key.ts';

export interface JoinOptions {
  readonly spec: Pick<
    JoinSpec,
    | 'mode'
    | 'build'
    | 'probe'
    | 'project'
    | 'on_missing'
    | 'on_duplicate'
    | 'on_collision'
    | 'key_normalize'
    | 'max_build_records'
  >;
  /** Nobody else holds the probe records: they may be changed. */
  readonly ownsProbe: boolean;
  /** The build side may hold this much in memory; more goes to disk. */
  readonly memoryBytes: number;
}

export class Join {
  buildRecords = 0;
  /** Build records without a key. */
  buildNulls = 0;
  probeRecords = 0;
  matched = 0;
  missed = 0;
  /** Records given beyond one for one. */
  extra = 0;
  /** Projected values that a match did not have. */
  projectMisses = 0;
  readonly #options: JoinOptions;
  readonly #index: BuildIndex;
  readonly #buildKey: (record: JsonValue) => string | undefined;
  readonly #probeKey: (record: JsonValue) => string | undefined;
  readonly #copiers: readonly ReturnType<typeof pathCopier>[];
  readonly #names: readonly string[];
  readonly #missing: Match;

  constructor(options: JoinOptions) {
    const {
      build,
      probe,
      project,
      key_normalize: normalize,
      on_duplicate: onDuplicate,
      on_missing: onMissing,
    } = options.spec;
    this.#options = options;
    this.#index = new BuildIndex({
      keepAll: onDuplicate === 'cartesian',
      memoryBytes: options.memoryBytes,
    });
    this.#buildKey = keyReader(build.key, normalize);
    this.#probeKey = keyReader(probe.key, normalize);
    this.#copiers = project.map(({ from }) => pathCopier(from));
    this.#names = project.map(({ as }) => as);
    this.#missing = project.map(() => onMissing);
  }

  get duplicates(): number {
    return this.#index.duplicates;
  }

  get onDisk(): boolean {
    return this.#index.onDisk;
  }

  /** Keeps of each record only what a match brings. */
  build(records: readonly JsonValue[]): void {
    const { max_build_records: most } = this.#options.spec;
    for (const record of records) {
      this.buildRecords += 1;
      if (this.buildRecords > most) {
        throw new RunError(
          'Transform',
          'join_build_too_large',
          `the build side has more than ${most} records`,
          {
            hint: 'raise `max_build_records`, or let the smaller stream be the build side',
          },
        );
      }
      const key = this.#buildKey(record);
      if (key === undefined) this.buildNulls += 1;
      else this.#index.add(key, this.#projected(record));
    }
  }

  #projected(record: JsonValue): Match {
    const match: JsonValue[] = [];
    for (const copy of this.#copiers) copy(record, match);
    return match;
  }

  /** In the order of the probe records; several matches of one in the order of the build side. */
  probe(records: readonly JsonValue[]): JsonValue[] {
    const out: JsonValue[] = [];
    for (const record of records) {
      this.probeRecords += 1;
      const matches = this.#matchesOf(record);
      const [first] = matches;
      if (first === undefined) {
        this.missed += 1;
        if (this.#options.spec.mode === 'left')
          out.push(this.#enriched(record, this.#missing, this.#options.ownsProbe));
        continue;
      }
      this.matched += 1;
      this.extra += matches.length - 1;
      for (const [index, match] of matches.entries()) {
        // The last one takes the record itself, so that those before it were copied unchanged.
        out.push(
          this.#enriched(record, match, this.#options.ownsProbe && index === matches.length - 1),
        );
      }
    }
    return out;
  }

  close(): void {
    this.#index.close();
  }

  #matchesOf(record: JsonValue): readonly Match[] {
    const key = this.#probeKey(record);
    if (key === undefined) return [];
    const matches = this.#index.get(key);
    return this.#options.spec.on_duplicate === 'first' ? matches.slice(0, 1) : matches;
  }

  #enriched(record: JsonValue, match: Match, isOwn: boolean): JsonValue {
    if (this.#names.length === 0)
      return isOwn || !this.#options.ownsProbe ? record : copyJson(record);
    if (!isObject(record)) {
      throw new RunError(
        'Transform',
        'join_not_object',
        'a probe record is not an object, so nothing can be projected onto it',
        {
          hint: 'make objects of the records before the join',
        },
      );
    }
    const target = isOwn ? record : this.#options.ownsProbe ? copyJson(record) : { ...record };
    for (const index of this.#names.keys()) this.#put(target, match, index);
    return target;
  }

  #put(target: JsonObject, match: Match, index: number): void {
    const value = match[index];
    const name = this.#names[index] ?? '';
    if (value === undefined) {
      this.projectMisses += 1;
      return;
    }
    const { on_collision: onCollision } = this.#options.spec;
    if (onCollision !== 'overwrite' && hasField(target, name)) {
      if (onCollision === 'skip') return;
      throw new RunError(
        'Transform',
        'join_collision',
        `the probe record has a field \`${name}\` already`,
        {
          hint: 'project under another name, or set `on_collision` to `overwrite` or `skip`',
        },
      );
    }
    // What was remembered goes into many records, and each of them may be changed later.
    setField(target, name, copyJson(value));
    moveSpelling(match, String(index), target, name);
  }
}

function keyReader(
  path: string,
  normalize: JoinSpec['key_normalize'],
): (record: JsonValue) => string | undefined {
  const read = pathReader(path);
  return (record) => joinKey(read(record), normalize);
}

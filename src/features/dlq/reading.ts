/** Reads the dead letters of a replay and counts the lines that are skipped. */
import { ConnectorError, RefusedError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { TypesConfig } from '../../kit/declared-columns.ts';
import { UNKNOWN_SCHEMA, withField, type RecordSchema } from '../../kit/record-schema.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import type { ReplayReport } from '../../wire/dlq.ts';
import { count } from '../../lib/text/count.ts';
import {
  COPY_TO_LINES,
  isWanted,
  linesOf,
  type DeadLetter,
  type DeadLetterFilter,
} from './dead-letters.ts';

export interface Wanted {
  readonly keys: readonly string[];
  readonly filter: DeadLetterFilter;
  /** In place of that of the one dead letter that is wanted. */
  readonly payload: JsonValue | undefined;
  /** Whether this is another row of the document: its records belong elsewhere. */
  readonly isOther: (row: string) => boolean;
  /** The source of the row. */
  readonly source: RereadBy;
}

/** What reads again what a source could not read. */
interface RereadBy {
  readonly definition: Pick<SourceDefinition, 'reread' | 'declares'>;
  /** `undefined` when it is not known before a run. */
  readonly config: unknown;
}

export class Reading {
  readonly #files: readonly string[];
  readonly #wanted: Wanted;
  readonly #passedOver = { other_rows: 0, malformed: 0, non_envelope: 0, undecryptable: 0 };
  /** Dead letters of records that could not be read, and still cannot. */
  #unread = 0;
  #readable = 0;
  #candidates = 0;

  constructor(files: readonly string[], wanted: Wanted) {
    this.#files = files;
    this.#wanted = wanted;
  }

  async *deadLetters(): AsyncGenerator<{ readonly deadLetter: DeadLetter; readonly size: number }> {
    const { keys, filter, payload, isOther, source } = this.#wanted;
    for (const file of this.#files) {
      for await (const line of linesOf(file, keys)) {
        if (line.kind === 'blank') continue;
        if (line.kind !== 'dead_letter') {
          this.#passedOver[line.kind] += 1;
          continue;
        }
        this.#readable += 1;
        const { bytes } = line;
        if (!isWanted(line, filter)) continue;
        if (line.deadLetter.row !== null && isOther(line.deadLetter.row)) {
          this.#passedOver.other_rows += 1;
          continue;
        }
        const given = payload === undefined ? line.deadLetter : { ...line.deadLetter, payload };
        const deadLetter = readNow(given, source);
        if (deadLetter === undefined) {
          this.#unread += 1;
          continue;
        }
        this.#candidates += 1;
        yield { deadLetter, size: bytes.length };
        // Equal lines have equal ids: one of them is wanted.
        if (filter.letter !== undefined) return;
      }
    }
  }

  /** Throws `RefusedError` when no line could be read as a dead letter: nothing was replayed. */
  report(result: Pick<ReplayReport, 'records_written' | 'failed_dlq' | 'dry_run'>): ReplayReport {
    const passed = this.#passedOver;
    assertReadable({
      readable: this.#readable,
      undecryptable: passed.undecryptable,
      others: passed.malformed + passed.non_envelope,
    });
    const unread = this.#unread;
    const isAny = unread > 0 || Object.values(passed).some((lines) => lines > 0);
    return {
      candidates: this.#candidates,
      ...result,
      ...(isAny ? { passed_over: { ...passed, ...(unread > 0 ? { unread } : {}) } } : {}),
    };
  }
}

/** `undefined` when the source could not read it and still cannot: there is no record. */
function readNow(deadLetter: DeadLetter, { definition, config }: RereadBy): DeadLetter | undefined {
  const { reason, payload, input, schema: types } = deadLetter;
  if (reason !== 'parse') return deadLetter;
  try {
    const unread = { payload, input: input ?? 'the queue' };
    const told = withTypesOfRun(config, types);
    const record =
      definition.reread === undefined || told === undefined
        ? payload
        : definition.reread(told, unread);
    if (record === undefined || !isObject(record)) return undefined;
    const schema = told === undefined ? undefined : definition.declares?.(told);
    return { ...deadLetter, payload: record, schema };
  } catch (error) {
    if (error instanceof ConnectorError) return undefined;
    throw error;
  }
}

/** Types that a source would infer from other records are those that it inferred in the run. */
function withTypesOfRun(config: unknown, types: RecordSchema | undefined): unknown {
  if (typeof config !== 'object' || config === null || types === undefined) return config;
  const { columns, infer_types: infers } = config as Partial<TypesConfig>;
  if (infers !== true) return config;
  const declared = columns ?? UNKNOWN_SCHEMA;
  return { ...config, infer_types: false, columns: types.fields.reduce(withField, declared) };
}

/** Lines of a queue, by what they turned out to be. */
export interface LinesRead {
  readonly readable: number;
  readonly undecryptable: number;
  /** Lines that are no dead letters; a discard leaves them, and so does not ask for any. */
  readonly others?: number | undefined;
}

/** What no key opens, and what is no queue, is not an empty one. Throws `RefusedError`. */
export function assertReadable({ readable, undecryptable, others = 0 }: LinesRead): void {
  if (readable > 0) return;
  if (undecryptable > 0)
    throw new RefusedError(
      'bad_config',
      `no key opens the dead letters: ${undecryptable} sealed, and none readable`,
      {
        hint: 'name the key they were sealed with: `--key-env`, or `encryption_keys`',
      },
    );
  if (others > 0)
    throw new RefusedError(
      'bad_config',
      `there are no dead letters in ${count(others, 'line')}: one is a JSON object with a \`payload\``,
      { hint: COPY_TO_LINES },
    );
}

/** Throws `RefusedError`: it was taken out of the queue, or another file holds it. */
export async function assertIsThere(
  files: readonly string[],
  { keys, letter }: { readonly keys: readonly string[]; readonly letter: string },
): Promise<void> {
  for (const file of files)
    for await (const line of linesOf(file, keys))
      if (line.kind === 'dead_letter' && isWanted(line, { letter })) return;
  throw new RefusedError('bad_config', `there is no dead letter ${letter} in the queue`, {
    hint: 'inspect the queue again: it may have been discarded',
  });
}

/** The objects that a config stands for: those of earlier runs, and where this one goes on. */
import type { SinkContext } from '../../kit/context.ts';
import { outputId } from '../../kit/output-id.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { learnsColumns } from '../_files/write/writing-blocks.ts';
import { isNumbered, keyPattern, writingOf, type ObjectWriting } from './sink-fields.ts';

interface Place {
  readonly context: SinkContext;
  readonly store: ObjectStore;
}

const PART = '{part}';
const PART_DIGITS = 5;
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

export function partKey(pattern: string, part: number): string {
  return pattern.replaceAll(PART, String(part).padStart(PART_DIGITS, '0'));
}

export class WrittenObjects {
  /** The keys of this run. */
  readonly pattern: string;
  readonly #config: ObjectWriting;
  readonly #place: Place;
  readonly #numbers: boolean;
  #first: Promise<number> | undefined;

  constructor(config: ObjectWriting, place: Place) {
    this.#config = config;
    this.#place = place;
    const { role } = place.context;
    // Dead letters of earlier runs must stay, whatever the config says.
    this.#numbers = role === 'dlq' || isNumbered(config);
    const own = outputId(place.context);
    this.pattern = keyPattern(config, { own, numbers: this.#numbers });
  }

  /** The number of the first object of this run. Looks at the destination once. */
  firstPart(): Promise<number> {
    return (this.#first ??= this.#findFirst());
  }

  /**
   * Whether a run without records writes an empty object. Where positions are stored, no records
   * are no news.
   */
  async needsEmpty(): Promise<boolean> {
    const { path, mode, write_mode: writeMode } = this.#config;
    if (path === undefined || learnsColumns(writingOf(this.#config))) return false;
    if (writeMode === 'overwrite') return true;
    if (mode !== 'overwrite' || this.#place.context.progress === 'positions') return false;
    for await (const _ of this.#earlier()) return true;
    return false;
  }

  /** Of an output that is replaced, the objects that this run does not have. */
  async removeOthers(ours: ReadonlySet<string>): Promise<void> {
    const { path, mode, write_mode: writeMode } = this.#config;
    const isReplaced =
      writeMode === 'overwrite' || (path !== undefined && mode === 'overwrite' && ours.size > 0);
    if (!isReplaced) return;
    for await (const key of this.#earlier()) if (!ours.has(key)) await this.remove(key);
  }

  remove(key: string): Promise<void> {
    const { store, context } = this.#place;
    return store.remove(key, context.signal);
  }

  async #findFirst(): Promise<number> {
    const { path, mode } = this.#config;
    if (path === undefined) return 1;
    const { store, context } = this.#place;
    if (mode === 'overwrite' && context.role !== 'dlq') return 1;
    let last = 0;
    for await (const key of this.#earlier()) {
      if (mode === 'error_if_exists' && context.role !== 'dlq')
        throw new ConnectorError('refused', `${store.address}${key} exists already`, {
          hint: 'remove it, or set `mode`',
        });
      last = Math.max(last, this.#numberOf(key));
    }
    return last + 1;
  }

  #numberOf(key: string): number {
    return Number(this.#shape().exec(key)?.[1] ?? 0);
  }

  async *#earlier(): AsyncGenerator<string> {
    const { store, context } = this.#place;
    const { prefix, path } = this.#config;
    const shape = this.#shape();
    const start =
      prefix + (path === undefined ? '' : (this.pattern.slice(prefix.length).split(PART)[0] ?? ''));
    for await (const page of store.list({ prefix: start, signal: context.signal }))
      for (const { key } of page) if (shape.test(key)) yield key;
  }

  /** Recognises the keys of all runs. */
  #shape(): RegExp {
    const steps = keyPattern(this.#config, { own: '\0', numbers: this.#numbers }).split(PART);
    const parts = steps.map((step) => step.split('\0').map(escaped).join(UUID));
    return new RegExp(`^${parts.join(String.raw`(\d{5,})`)}$`);
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

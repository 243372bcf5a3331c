/**
 * What a join remembers of its build side: for each key the projected values, in order. Beyond a
 * size it lives on disk.
 */
import { CONTAINER_BYTES, heapSize, ITEM_BYTES } from '../../kit/rough-size.ts';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { JsonValue } from '../../lib/text/json.ts';
import { keepSpelling } from '../../lib/text/number-spelling.ts';
import { packJson, unpackJson } from '../../lib/text/packed-json.ts';
import { openTemporaryDatabase } from '../temporary-database.ts';

/**
 * The values a build record gives, in the order of `project`; `undefined` where the record has
 * none.
 */
export type Match = readonly (JsonValue | undefined)[];

export interface BuildIndexOptions {
  /** Every match of a key is kept, not only the first. */
  readonly keepAll: boolean;
  readonly memoryBytes: number;
}

export class BuildIndex {
  /** Matches that came for a key that had one already. */
  duplicates = 0;
  readonly #options: BuildIndexOptions;
  readonly #memory = new Map<string, Match[]>();
  #bytes = 0;
  #disk: Disk | undefined;

  constructor(options: BuildIndexOptions) {
    this.#options = options;
  }

  get onDisk(): boolean {
    return this.#disk !== undefined;
  }

  add(key: string, match: Match): void {
    if (this.#disk !== undefined) {
      if (this.#disk.add(key, match, this.#options.keepAll)) this.duplicates += 1;
      return;
    }
    const known = this.#memory.get(key);
    if (known !== undefined) {
      this.duplicates += 1;
      if (!this.#options.keepAll) return;
      known.push(match);
    } else {
      this.#memory.set(key, [match]);
      this.#bytes += ENTRY_BYTES + key.length * 2;
    }
    this.#bytes += sizeOfMatch(match);
    if (this.#bytes > this.#options.memoryBytes) this.#moveToDisk();
  }

  get(key: string): readonly Match[] {
    return this.#disk?.get(key) ?? this.#memory.get(key) ?? [];
  }

  close(): void {
    this.#disk?.close();
    this.#disk = undefined;
    this.#memory.clear();
  }

  #moveToDisk(): void {
    const disk = new Disk();
    for (const [key, matches] of this.#memory)
      for (const match of matches) disk.add(key, match, true);
    this.#memory.clear();
    this.#disk = disk;
  }
}

class Disk {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #known: StatementSync;

  constructor() {
    this.#db = openTemporaryDatabase(
      'CREATE TABLE build (key TEXT, seq INTEGER, match TEXT, PRIMARY KEY (key, seq)) WITHOUT ROWID',
    );
    this.#known = this.#db.prepare('SELECT max(seq) AS last FROM build WHERE key = ?');
    this.#insert = this.#db.prepare('INSERT INTO build VALUES (?, ?, ?)');
    this.#select = this.#db.prepare('SELECT match FROM build WHERE key = ? ORDER BY seq');
  }

  /** Whether the key was there already. */
  add(key: string, match: Match, keepAll: boolean): boolean {
    const text = keyText(key);
    const { last } = this.#known.get(text) as { last: number | null };
    if (last === null || keepAll) this.#insert.run(text, (last ?? -1) + 1, writeMatch(match));
    return last !== null;
  }

  get(key: string): readonly Match[] {
    return this.#select.all(keyText(key)).map(({ match }) => readMatch(match as string));
  }

  close(): void {
    this.#db.close();
  }
}

/** Without the characters that a database may treat as equal. */
function keyText(key: string): string {
  return JSON.stringify(key);
}

/** Absent values become an empty list, present ones a list of one. */
function writeMatch(match: Match): string {
  const lists = match.map((value, index) => {
    if (value === undefined) return [];
    const list = [value];
    keepSpelling(match, String(index), list, '0');
    return list;
  });
  return packJson(lists);
}

function readMatch(text: string): Match {
  const match: (JsonValue | undefined)[] = [];
  for (const [index, list] of (unpackJson(text) as JsonValue[][]).entries()) {
    match.push(list[0]);
    keepSpelling(list, '0', match, String(index));
  }
  return match;
}

/** Rough cost in the heap of an entry of a map with its list. */
const ENTRY_BYTES = 120;

function sizeOfMatch(match: Match): number {
  return match.reduce<number>(
    (sum, value) => sum + ITEM_BYTES + (value === undefined ? 0 : heapSize(value)),
    CONTAINER_BYTES,
  );
}

/** Notices fields that a transform names and that no record has: most likely they are misspelled. */
import { hasCells, MISSING, type Column, type Columns } from '../../kit/columns.ts';
import type { Page } from '../../kit/page.ts';
import type { ColumnFlow } from '../../kit/transform.ts';
import type { Log } from '../../lib/log.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { hasField, isObject, stringifyJson } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';

/** Names that are remembered to suggest one of them. */
const MOST_NAMES = 1000;

interface Watched {
  readonly type: string;
  readonly path: string;
}

export class FieldWatch {
  /** Fields that have not been seen, with the transform that names them. */
  readonly #unseen: Map<string, Watched>;
  readonly #names = new Set<string>();
  #records = 0;

  constructor({ transforms }: Pick<PlannedRow, 'transforms'>) {
    this.#unseen = watchedFields(transforms);
  }

  /** As the source gave it, before any transform. Costs nothing once all fields were seen. */
  see(page: Page): void {
    if (this.#unseen.size === 0) return;
    this.#records += page.count;
    const { columns } = page;
    if (columns === undefined) this.#seeRecords(page);
    else this.#seeColumns(columns);
  }

  /** Once, when the source has ended. */
  report(log: Log, row: string): void {
    if (this.#records === 0) return;
    for (const [field, { type, path }] of this.#unseen) {
      const near = nearest(field, [...this.#names]);
      log.warn(`the transform \`${type}\` names a field that no record has`, {
        row,
        field,
        path,
        ...(near === undefined ? {} : { hint: `did you mean \`${near}\`?` }),
      });
    }
  }

  #seeNames(names: readonly string[]): void {
    for (const name of names) {
      this.#unseen.delete(name);
      if (this.#names.size < MOST_NAMES) this.#names.add(name);
    }
  }

  /** A short row of a file has no cell in some of its columns. */
  #seeColumns(columns: Columns): void {
    const [first] = columns.rows;
    this.#seeNames(columns.names.filter((_, index) => isThere(columns.columns[index], first ?? 0)));
    for (const field of this.#unseen.keys()) {
      const column = columns.column(field);
      if (column !== undefined && hasCells(columns, column)) this.#unseen.delete(field);
    }
  }

  #seeRecords(page: Page): void {
    const records = page.records();
    const [first] = records;
    if (isObject(first ?? null)) this.#seeNames(Object.keys(first as object));
    for (const field of this.#unseen.keys())
      if (records.some((record) => isObject(record) && hasField(record, field)))
        this.#unseen.delete(field);
  }
}

function isThere(column: Column | undefined, row: number): boolean {
  return column !== undefined && column.kinds[row] !== MISSING;
}

/** Only fields of the source: what an earlier transform makes or renames is not looked for. */
function watchedFields(transforms: PlannedRow['transforms']): Map<string, Watched> {
  const watched = new Map<string, Watched>();
  const made = new Set<string>();
  for (const { definition, parsed, judged, config: given, type, path } of transforms) {
    const config = parsed ?? judged;
    if (config === undefined) break;
    // A field that is named by default may be one of another source.
    const written = stringifyJson(given);
    const reads = definition.reads(config);
    const flow = definition.columns(config);
    const makes = madeBy(flow);
    if (reads.kind === 'fields')
      for (const name of reads.names)
        // A transform that fills a field is there for records without it.
        if (
          written.includes(name) &&
          !made.has(name) &&
          !makes.includes(name) &&
          !watched.has(name) &&
          type !== 'coalesce'
        )
          watched.set(name, { type, path });
    if (flow.kind === 'opaque') break;
    for (const name of makes) made.add(name);
  }
  return watched;
}

function madeBy(flow: ColumnFlow): readonly string[] {
  switch (flow.kind) {
    case 'rename':
      return Object.values(flow.fields);
    case 'add':
      return flow.fields;
    case 'derive':
      return Object.keys(flow.fields);
    default:
      return [];
  }
}

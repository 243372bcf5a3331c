import { orderOf, type RecordSchema } from '../../../kit/record-schema.ts';
import { isReordered, memberNames } from '../../../lib/text/member-order.ts';
import { parseJson, type JsonValue } from '../../../lib/text/json.ts';

/** Of lines without spaces. */
const MAY_HAVE_NUMBERS = /"\d{1,10}":/;

/** Records with more names have them for data, such as the numbers of customers, and no order to keep. */
const MOST_NAMES = 1000;

/** Learns the order of the fields of records whose objects do not keep it, such as `2024`. */
export class NameOrder {
  readonly #names = new Set<string>();
  #schema: RecordSchema | undefined;
  #hasLooked = false;
  #isOver = false;

  /** `value` is what `text` says: a record, or an array of records. */
  look(text: string, value: JsonValue): void {
    if (this.#isOver) return;
    const isNew = (record: JsonValue): boolean => isReordered(record) && !this.#hasAll(record);
    if (Array.isArray(value) ? !value.some(isNew) : !isNew(value)) return;
    for (const name of memberNames(text)) this.#names.add(name);
    this.#isOver = this.#names.size > MOST_NAMES;
    this.#schema = this.#isOver ? undefined : orderOf([...this.#names]);
    if (this.#isOver) this.#names.clear();
  }

  /**
   * For lines that nobody parses: those of the first page. Further ones would cost more than the names
   * are worth, whose order is asked for when the first page is written.
   */
  lookAtFirst(lines: Uint8Array): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    const text = Buffer.from(lines.buffer, lines.byteOffset, lines.length).toString('utf8');
    if (!MAY_HAVE_NUMBERS.test(text)) return;
    for (const line of text.split('\n')) if (line !== '') this.look(line, parseJson(line));
  }

  /** Another object only when names were added; `undefined` where records keep the order, or have none. */
  get schema(): RecordSchema | undefined {
    return this.#schema;
  }

  #hasAll(value: JsonValue): boolean {
    return Object.keys(value as object).every((name) => this.#names.has(name));
  }
}

/** What a program is told of the fields: types of the source, or those that the values have. */
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { jsonEqual, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** Keywords of JSON Schema that say more of a type than its name. */
type MoreOfType = (type: RecordType) => JsonObject;

/** Grows with the records; every field may be null or absent. */
export class StreamSchema {
  readonly #moreOf: MoreOfType;
  readonly #types = new Map<string, Set<string>>();
  readonly #formats = new Map<string, JsonObject>();
  #told: JsonObject | undefined;

  constructor(moreOf: MoreOfType = formatOf) {
    this.#moreOf = moreOf;
  }

  /** The schema that has to be sent before these records; `undefined` where the last one will do. */
  before(records: readonly JsonObject[], schema: RecordSchema | undefined): JsonObject | undefined {
    for (const { name, type } of schema?.fields ?? [])
      this.#note(name, nameOf(type), this.#moreOf(type));
    for (const record of records)
      for (const [name, value] of Object.entries(record))
        if (value !== null && !this.#types.get(name)?.has(typeOf(value)))
          this.#note(name, typeOf(value), {});
        else if (value === null && !this.#types.has(name)) this.#types.set(name, new Set());
    const now = this.#schema();
    if (this.#told !== undefined && jsonEqual(this.#told, now)) return undefined;
    this.#told = now;
    return now;
  }

  #note(name: string, type: string | undefined, format: JsonObject): void {
    const types = this.#types.get(name) ?? new Set();
    this.#types.set(name, types);
    if (type === undefined || (type === 'integer' && types.has('number'))) return;
    if (type === 'number') types.delete('integer');
    this.#formats.set(name, types.size === 0 ? format : (this.#formats.get(name) ?? {}));
    types.add(type);
  }

  #schema(): JsonObject {
    const properties = Object.fromEntries(
      [...this.#types].map(([name, types]): [string, JsonValue] => {
        if (types.size === 0) return [name, {}];
        return [
          name,
          {
            type: [...[...types].sort(), 'null'],
            ...(types.size > 1 ? {} : this.#formats.get(name)),
          },
        ];
      }),
    );
    return { type: 'object', properties };
  }
}

/** `date-time`, `date` and `time`, where a type has such a text. */
export function formatOf({ kind }: RecordType): JsonObject {
  if (kind === 'timestamp') return { format: 'date-time' };
  return kind === 'date' || kind === 'time' ? { format: kind } : {};
}

/** `undefined` where values may have any type. */
function nameOf({ kind }: RecordType): string | undefined {
  switch (kind) {
    case 'bool':
      return 'boolean';
    case 'float32':
    case 'float64':
      return 'number';
    case 'list':
      return 'array';
    case 'struct':
      return 'object';
    case 'json':
    case 'map':
      return undefined;
    default:
      return /^u?int/.test(kind) ? 'integer' : 'string';
  }
}

function typeOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** What a target is told of the fields: types of the source, or those that the values have. */
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { jsonEqual, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** Grows with the records; every field may be null or absent. */
export class StreamSchema {
  readonly #types = new Map<string, Set<string>>();
  readonly #formats = new Map<string, string | undefined>();
  #told: JsonObject | undefined;

  /** The schema that has to be sent before these records; `undefined` where the last one will do. */
  before(records: readonly JsonObject[], schema: RecordSchema | undefined): JsonObject | undefined {
    for (const { name, type } of schema?.fields ?? []) this.#note(name, ...declared(type));
    for (const record of records)
      for (const [name, value] of Object.entries(record))
        if (value !== null && !this.#types.get(name)?.has(typeOf(value)))
          this.#note(name, typeOf(value), undefined);
        else if (value === null && !this.#types.has(name)) this.#types.set(name, new Set());
    const now = this.#schema();
    if (this.#told !== undefined && jsonEqual(this.#told, now)) return undefined;
    this.#told = now;
    return now;
  }

  #note(name: string, type: string | undefined, format: string | undefined): void {
    const types = this.#types.get(name) ?? new Set();
    this.#types.set(name, types);
    if (type === undefined || (type === 'integer' && types.has('number'))) return;
    if (type === 'number') types.delete('integer');
    this.#formats.set(name, types.size === 0 ? format : this.#formats.get(name));
    types.add(type);
  }

  #schema(): JsonObject {
    const properties = Object.fromEntries(
      [...this.#types].map(([name, types]): [string, JsonValue] => {
        if (types.size === 0) return [name, {}];
        const format = this.#formats.get(name);
        return [
          name,
          {
            type: [...[...types].sort(), 'null'],
            ...(format === undefined || types.size > 1 ? {} : { format }),
          },
        ];
      }),
    );
    return { type: 'object', properties };
  }
}

function declared({ kind }: RecordType): readonly [string | undefined, string | undefined] {
  switch (kind) {
    case 'bool':
      return ['boolean', undefined];
    case 'float32':
    case 'float64':
      return ['number', undefined];
    case 'timestamp':
      return ['string', 'date-time'];
    case 'date':
    case 'time':
      return ['string', kind];
    case 'list':
      return ['array', undefined];
    case 'struct':
      return ['object', undefined];
    case 'json':
    case 'map':
      return [undefined, undefined];
    default:
      return [/^u?int/.test(kind) ? 'integer' : 'string', undefined];
  }
}

function typeOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

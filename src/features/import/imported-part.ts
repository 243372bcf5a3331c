import type { JsonObject } from '../../lib/text/json.ts';
import type { ImportedSystem } from './imported-move.ts';

export interface Part {
  readonly type: string;
  readonly config: JsonObject;
}

/** The settings that say where a database is. */
export function placeOf({ kind, address, database }: ImportedSystem): JsonObject {
  switch (kind) {
    case 'sqlite':
      return { database_url: `sqlite:${address}?mode=rwc` };
    case 'duckdb':
      return { database: address };
    case 'mongodb':
      return { connection_uri: address, database: database ?? '' };
    default:
      return { connection_url: address };
  }
}

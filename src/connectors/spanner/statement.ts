import type { ValueType } from './api.ts';
import type { Cell } from './cells.ts';

/** A statement with its parameters. */
export interface Query {
  readonly sql: string;
  readonly params?: Readonly<Record<string, Cell>>;
  readonly types?: Readonly<Record<string, ValueType>>;
}

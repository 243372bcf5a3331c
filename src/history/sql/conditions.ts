import type { SqlValue } from './sql-store.ts';

/** The conditions of a list that a request asks for. */
export class Conditions {
  readonly values: SqlValue[] = [];
  readonly #parts: string[] = [];

  add(condition: string, ...values: readonly SqlValue[]): void {
    this.#parts.push(condition);
    this.values.push(...values);
  }

  text(): string {
    return this.#parts.length === 0 ? '' : `WHERE ${this.#parts.join(' AND ')}`;
  }
}

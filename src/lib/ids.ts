import { v7 } from 'uuid';

/** Makes run and invocation ids: UUID version 7, so that text order is time order. */
export interface Ids {
  next(): string;
}

export const uuidIds: Ids = { next: () => v7() };

/** An object as a store lists it. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  readonly lastModified: Date;
  /** Another one for other content under the same key. */
  readonly version: string;
}

/** Lists every object whose key starts with the prefix, page by page, in any order. */
export type ListObjects = (signal: AbortSignal) => AsyncIterable<readonly StoredObject[]>;

declare module 'pg-copy-streams' {
  import type { Readable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** A stream of what a `COPY … TO STDOUT` sends. */
  export function to(sql: string): Readable & Submittable;
}

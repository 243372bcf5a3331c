declare module 'pg-copy-streams' {
  import type { Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  /** A stream that sends what is written to it as the rows of a `COPY … FROM STDIN`. */
  export function from(sql: string): Writable & Submittable;
}

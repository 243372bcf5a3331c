/** Why records were put aside, so that those of one cause can be counted, looked at and replayed. */
import { hash } from 'node:crypto';

export interface Cause {
  /** 16 hexadecimal digits; equal causes have equal ones in every queue. */
  readonly id: string;
  readonly reason: string | null;
  readonly errorKind: string | null;
  /** The sentence without the values of a single record. */
  readonly message: string | null;
}

/** What a dead letter says of it. */
interface Complaint {
  readonly reason: string | null;
  readonly errorKind: string | null;
  readonly errorMessage: string | null;
}

const ELLIPSIS = '\u2026';
/** Quoted texts, then numbers, times and ids; names between backticks are those of fields. */
const VALUES =
  /(`[^`]*`)|"(?:[^"\\]|\\.)*"|(?<![\w])'[^']*'(?![\w])|(?<![\w.])[-+]?\d(?:[\w.:+-]*\w)?/g;
const LONGEST = 500;

export function causeOf({ reason, errorKind, errorMessage }: Complaint): Cause {
  const message = errorMessage === null ? null : shapeOf(errorMessage);
  const id = hash('sha256', JSON.stringify([reason, errorKind, message])).slice(0, 16);
  return { id, reason, errorKind, message };
}

/** `amount is -1, not more than 0` and `amount is -7, not more than 0` have one shape. */
function shapeOf(message: string): string {
  return message
    .slice(0, LONGEST)
    .replaceAll(VALUES, (_match, name: string | undefined) => name ?? ELLIPSIS);
}

import { positionAt } from './locate.ts';

/** Why a text is not a document: found while reading it, so nothing after it was checked. */
export class TextFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly line?: number;
  readonly column?: number;
}

/** What to do about a text that holds nothing. */
export const FIRST_DOCUMENT =
  'check that it is the one that is meant; on the command line `headgate init` writes a first document';

export function textFault(
  text: string,
  offset: number,
  code: string,
  message: string,
  hint?: string,
): TextFault {
  const fault = { code, message, ...positionAt(text, offset) };
  return new TextFault(hint === undefined ? fault : { ...fault, hint });
}

/** A file that is one JSON document. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import {
  isNumberFault,
  jsonFault,
  jsonHint,
  parseData,
  type JsonValue,
} from '../../../lib/text/json.ts';
import {
  HALF_CHARACTER,
  hasHalfCharacter,
  holdsHalfCharacter,
} from '../../../lib/text/half-character.ts';
import { hasHiddenMembers } from '../../../lib/text/json-literal.ts';
import { hugeNumberIndex, jsonFaultIndex, placeIn } from '../../../lib/text/json-place.ts';
import { ownSpelling, spellingOf } from '../../../lib/text/number-spelling.ts';
import type { NameOrder } from './name-order.ts';
import type { Sized } from '../lines/cut-pages.ts';

interface DocumentOptions {
  /** Name of the file in errors. */
  readonly name: string;
  /** Whether a document that is no array is one record. */
  readonly loneRecords: boolean;
  readonly log: Pick<Log, 'warn'>;
  readonly order?: NameOrder | undefined;
}

/** An array gives its elements; anything else is one record, or refused. */
export function jsonDocument(text: string, options: DocumentOptions): Sized[] {
  const { name, loneRecords, log, order } = options;
  if (text.trim() === '') {
    log.warn('the file is empty: it has no JSON document, and no record', {
      path: name,
      hint: 'an array without records is written as `[]`; the file may be cut off',
    });
    return [];
  }
  const value = parsed(text, name);
  tellDoubts(text, value, options);
  order?.look(text, value);
  if (Array.isArray(value))
    return value.map((one, index) => ({ value: one, spelled: spellingOf(value, String(index)) }));
  if (loneRecords) return [{ value, spelled: ownSpelling(value, text.trim()) }];
  throw new ConnectorError('data', `${name} is no JSON array`, {
    hint: 'read it as `json_lines`, or have it written as an array of records',
  });
}

function tellDoubts(text: string, value: JsonValue, { name, log }: DocumentOptions): void {
  try {
    lookForDoubts(text, value, { name, log });
  } catch (error) {
    // The parser goes deeper than anything else.
    if (!(error instanceof RangeError)) throw error;
    const index = Array.isArray(value) ? value.findIndex(isTooDeep) : -1;
    const place = index === -1 ? name : `record ${index + 1} of ${name}`;
    const hint = jsonHint(error, text);
    throw new ConnectorError(
      'data',
      `${place} ${jsonFault(error)}`,
      hint === undefined ? {} : { hint },
    );
  }
}

function isTooDeep(value: JsonValue): boolean {
  try {
    hasHiddenMembers('', value);
    hasHalfCharacter(value);
    return false;
  } catch {
    return true;
  }
}

function lookForDoubts(
  text: string,
  value: JsonValue,
  { name, log }: Pick<DocumentOptions, 'name' | 'log'>,
): void {
  if (typeof value === 'object' && value !== null && hasHiddenMembers(text, value))
    log.warn('an object has two members of one name: the last one counts', {
      path: name,
      hint: 'have each name written once',
    });
  if (holdsHalfCharacter(text, value))
    log.warn(HALF_CHARACTER.one, { path: name, hint: HALF_CHARACTER.hint });
}

function parsed(text: string, name: string): JsonValue {
  try {
    return parseData(text);
  } catch (error) {
    const hint = jsonHint(error, text);
    const options = hint === undefined ? { cause: error } : { cause: error, hint };
    throw new ConnectorError('data', fault(error, text, name), options);
  }
}

function fault(error: unknown, text: string, name: string): string {
  if (!(error instanceof SyntaxError)) return `${name} ${jsonFault(error)}`;
  const isNumber = isNumberFault(error);
  const { line, column } = placeIn(text, isNumber ? hugeNumberIndex(text) : jsonFaultIndex(text));
  const says = isNumber ? jsonFault(error) : 'is not JSON';
  return `line ${line} of ${name} ${says} (at column ${column})`;
}

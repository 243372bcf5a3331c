import type { Page } from '../../kit/page.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';

/** The records of a page for a program, which takes objects alone. */
export function objectsIn(page: Page, program: string): JsonObject[] {
  return page.records().map((record, index): JsonObject => {
    if (isObject(record)) return record;
    throw new ConnectorError('data', `a record is no object: ${program} takes objects`, {
      record: index,
    });
  });
}

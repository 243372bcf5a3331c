/** In which form the rows of a result come. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { jsonBody } from '../../_http/body.ts';
import { rowsIn, type ResultRow } from './result.ts';

export interface ResultFormat<Row> {
  /** As the API calls it. */
  readonly name: 'JSON_ARRAY' | 'ARROW_STREAM';
  /** Rows inside an answer of the API. */
  inline(this: void, data: JsonValue | undefined): readonly Row[];
  /** Rows of what is behind a link; `what` names it in errors. */
  linked(this: void, bytes: Uint8Array, what: string): readonly Row[];
}

/** Every value is a text. */
export const JSON_ROWS: ResultFormat<ResultRow> = {
  name: 'JSON_ARRAY',
  inline: rowsIn,
  linked: (bytes, what) => rowsIn(jsonBody(bytes, what)),
};

/** A format whose rows are always behind links. */
export function linkedRows<Row>(
  name: ResultFormat<Row>['name'],
  linked: ResultFormat<Row>['linked'],
): ResultFormat<Row> {
  return {
    name,
    linked,
    inline(data) {
      if (data === undefined || data === null) return [];
      throw new ConnectorError(
        'data',
        `the server gives rows where links to ${name} were asked for`,
      );
    },
  };
}

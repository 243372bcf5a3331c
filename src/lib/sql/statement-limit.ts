import { ConnectorError } from '../errors.ts';

/** How long one thing may take on a server, and what to do about it. */
export interface StatementTime {
  /** 0: as long as it takes. */
  readonly secs: number;
  readonly hint?: string;
}

/** What a sink of a database does where the document sets the limit. */
export const statementTimeOf = ({
  statement_timeout_secs: secs,
}: {
  readonly statement_timeout_secs: number;
}): StatementTime => ({ secs, hint: 'raise `statement_timeout_secs`' });

/** A signal that fires with `outer`, or with a `ConnectorError` when the time is over. */
export class StatementLimit implements Disposable {
  readonly signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal | undefined, doing: string, time: StatementTime | undefined) {
    this.signal = outer;
    if (time === undefined || time.secs === 0) return;
    const late = new AbortController();
    const { secs, ...advice } = time;
    this.#timer = setTimeout(
      () =>
        late.abort(
          new ConnectorError('timeout', `${doing}: no answer came for ${secs} seconds`, advice),
        ),
      secs * 1000,
    );
    this.signal = outer === undefined ? late.signal : AbortSignal.any([outer, late.signal]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

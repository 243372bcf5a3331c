/** Sends rejected records again, together, before anybody gives up on them. */
import { backoffMs } from '../../lib/time/backoff.ts';
import { ConnectorError, RecordError, RunError } from '../../lib/errors.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type { Page } from '../../kit/page.ts';
import type { Rejection, WriteResult } from '../../kit/sink.ts';
import type { PoisonPolicy } from '../../blocks/resilience/schema.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import type { Invocation } from '../row/invocation.ts';

export const POISON_ROWS = defineMetric({
  name: 'svc_resilience_poison_rows_total',
  type: 'counter',
  help: 'Records that failed every try, by what was done with them.',
  labels: ['pipeline', 'row', 'action'],
});

export interface Settled extends WriteResult {
  /** Records that were given up and left out. */
  readonly dropped: number;
}

type Write = (page: Page) => Promise<WriteResult>;

export class Poison {
  readonly #policy: PoisonPolicy;
  readonly #invocation: Invocation;
  #warned = false;

  constructor(policy: PoisonPolicy, invocation: Invocation) {
    this.#policy = policy;
    this.#invocation = invocation;
  }

  /** `page` is what was sent, `first` what became of it. */
  async settle(page: Page, first: WriteResult, write: Write): Promise<Settled> {
    const { env, stop } = this.#invocation;
    const final: Rejection[] = [];
    let { written, skipped = 0 } = first;
    let pending = this.#sort(first.rejected, final);
    for (
      let attempt = 1;
      pending.length > 0 && attempt < this.#policy.maxRowAttempts && !stop.aborted;
      attempt += 1
    ) {
      await env.clock.sleep(backoffMs(this.#policy, attempt - 1), stop);
      const again = await this.#resend(page, pending, write);
      written += again.written;
      skipped += again.skipped ?? 0;
      pending = this.#sort(again.rejected, final);
    }
    const dropped = this.#giveUp(pending, final);
    return { written, skipped, rejected: final.sort((a, b) => a.index - b.index), dropped };
  }

  /** Keeps what is worth another try; the rest is final. */
  #sort(rejected: readonly Rejection[], final: Rejection[]): readonly Rejection[] {
    const isWorthIt = ({ error }: Rejection): boolean =>
      (this.#policy.on as readonly string[]).includes(connectorErrorOf(error)?.kind ?? '');
    final.push(...rejected.filter((one) => !isWorthIt(one)));
    return rejected.filter(isWorthIt);
  }

  async #resend(page: Page, pending: readonly Rejection[], write: Write): Promise<WriteResult> {
    const records = page.records();
    const part = page.withRecords(pending.map(({ index }) => records[index] ?? null));
    try {
      const result = await write(part);
      return {
        ...result,
        rejected: result.rejected.map(({ index, error }) => ({
          index: pending[index]?.index ?? 0,
          error,
        })),
      };
    } catch (error) {
      const cause = connectorErrorOf(error);
      if (cause === undefined) throw error;
      return {
        written: 0,
        rejected: pending.map(({ index }) => ({ index, error: recordErrorOf(cause) })),
      };
    }
  }

  #giveUp(pending: readonly Rejection[], final: Rejection[]): number {
    const [first] = pending;
    if (first === undefined) return 0;
    const { action, maxRowAttempts } = this.#policy;
    const { env, labels, row } = this.#invocation;
    env.metrics.inc(POISON_ROWS, { ...labels, action }, pending.length);
    switch (action) {
      case 'dlq':
        final.push(...pending);
        return 0;
      case 'drop':
        if (!this.#warned)
          env.log.warn('records that failed every attempt are dropped', {
            row: row.id,
            attempts: maxRowAttempts,
            error: first.error.message,
          });
        this.#warned = true;
        return pending.length;
      case 'fail': {
        const message = `sink \`${row.sink.type}\`: ${pending.length} record(s) failed ${maxRowAttempts} times; the first: ${first.error.message}`;
        throw new RunError(first.error.kind, 'poison_records', message, {
          hint: 'repair the records, or use `poison.action: dlq` to keep them aside',
          cause: first.error,
          index: first.index,
        });
      }
      default:
        return action satisfies never;
    }
  }
}

/** The failure of a whole page as that of one of its records. */
function recordErrorOf(cause: ConnectorError): RecordError {
  const named = wrapConnectorError('Sink', 'again', cause);
  return new RecordError(named instanceof RunError ? named.kind : 'Sink', cause.message, { cause });
}

import type { LineageEventKind } from '../../blocks/lineage/schema.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, StopReason } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import { lineageDropped, lineageEmitDuration, lineageEvents } from './metrics.ts';
import type { Transport } from './transport.ts';

const AT_ONCE = 4;
/** Events that may wait; a collector that takes none would fill the memory otherwise. */
const MAX_WAITING = 10_000;

interface Waiting {
  readonly kind: LineageEventKind;
  /** Makes the event, outside the path of the run. */
  readonly render: () => string;
}

/**
 * Sends events beside the run: those of one invocation in order, those of several at the same time.
 * Never throws.
 */
export class EventSender {
  readonly #transport: Transport;
  readonly #env: Pick<Env, 'clock' | 'log' | 'metrics' | 'redactor'>;
  readonly #gate = new Gate(AT_ONCE);
  readonly #giveUp = new AbortController();
  /** The last event of each invocation that is being sent. */
  readonly #last = new Map<string, Promise<void>>();
  #waiting = 0;
  #failed = 0;

  constructor(transport: Transport, env: Pick<Env, 'clock' | 'log' | 'metrics' | 'redactor'>) {
    this.#transport = transport;
    this.#env = env;
  }

  push(invocationId: string, event: Waiting): void {
    if (this.#waiting >= MAX_WAITING) {
      this.#lost(event.kind, 'too many events wait');
      return;
    }
    this.#waiting += 1;
    const before = this.#last.get(invocationId) ?? Promise.resolve();
    const sent = before
      .then(() => this.#send(invocationId, event))
      .finally(() => {
        this.#waiting -= 1;
        if (this.#last.get(invocationId) === sent) this.#last.delete(invocationId);
      });
    this.#last.set(invocationId, sent);
  }

  /**
   * Waits for events that are being sent, for as long as one event may take; the rest is given up.
   */
  async settle(): Promise<void> {
    const over = new AbortController();
    const all = Promise.all(this.#last.values()).finally(() => over.abort());
    void this.#env.clock.sleep(this.#transport.graceMs, over.signal).then(() => {
      if (!over.signal.aborted) this.#giveUp.abort(new StopReason('kill', 'the run has ended'));
    });
    await all;
    await this.#transport.close();
    if (this.#failed > 1)
      this.#env.log.warn('lineage events could not be sent', { events: this.#failed });
  }

  async #send(invocationId: string, { kind, render }: Waiting): Promise<void> {
    const { clock, metrics } = this.#env;
    let from = clock.elapsedMs();
    try {
      const release = await this.#gate.enter(this.#giveUp.signal);
      from = clock.elapsedMs();
      try {
        await this.#transport.send({ runId: invocationId, text: render() }, this.#giveUp.signal);
      } finally {
        release();
      }
      metrics.inc(lineageEvents, { event_type: kind, outcome: 'ok' });
    } catch (error) {
      this.#lost(kind, messageOf(error));
    } finally {
      metrics.observe(lineageEmitDuration, { event_type: kind }, (clock.elapsedMs() - from) / 1000);
    }
  }

  /** The first failure is logged at once; the others are only counted. */
  #lost(kind: LineageEventKind, why: string): void {
    const { log, metrics, redactor } = this.#env;
    metrics.inc(lineageEvents, { event_type: kind, outcome: 'err' });
    metrics.inc(lineageDropped, { reason: 'transport_error' });
    this.#failed += 1;
    if (this.#failed === 1)
      log.warn('a lineage event could not be sent', { event: kind, error: redactor.text(why) });
  }
}

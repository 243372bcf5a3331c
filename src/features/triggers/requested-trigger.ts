/** A trigger whose events are requests to this server. */
import type { RequestReceiver, TriggerRequest } from '../../kit/trigger.ts';
import type { SubmittingAction } from '../../runs/service/runs.ts';
import type { SubmissionReceipt } from '../../wire/run.ts';
import { ActiveTrigger, type ActiveOptions } from './active-trigger.ts';
import { Debounce } from './debounce.ts';
import type { LoadedTrigger } from './load-triggers.ts';

export interface Arrival {
  readonly request: TriggerRequest;
  readonly sourceIp: string | undefined;
  readonly signal: AbortSignal;
  /** Stored together with the run. */
  readonly actions?: readonly SubmittingAction[];
}

export class RequestedTrigger {
  readonly active: ActiveTrigger;
  readonly receiver: RequestReceiver;
  readonly #env: ActiveOptions['env'];
  readonly #debounce: Debounce;

  constructor(trigger: LoadedTrigger, receiver: RequestReceiver, options: ActiveOptions) {
    this.active = new ActiveTrigger(trigger, options);
    this.receiver = receiver;
    this.#env = options.env;
    this.#debounce = new Debounce(options.env.clock);
  }

  /** The run of the request; undefined when it has none of its own. */
  async fire({ request, ...occurrence }: Arrival): Promise<SubmissionReceipt | undefined> {
    const firedAt = this.#env.clock.now();
    const event = this.receiver.receive(request);
    const started = await this.#debounce.pass(
      this.receiver.debounceMs,
      () => this.active.fire({ ...occurrence, event, firedAt }),
      (result) => result.kind === 'run' && result.isNew,
    );
    if (started === undefined) this.active.countCoalesced();
    return started?.kind === 'run' ? started.receipt : undefined;
  }
}

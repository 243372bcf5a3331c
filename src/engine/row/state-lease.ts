/**
 * One run at a time moves a position. A run holds a lease of each state key that it uses; a second
 * one is refused, because both would read the same records and store positions over each other.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { NO_LEASE, type Holding, type Lease, type StateStore } from '../../kit/state-store.ts';
import { messageOf, RunError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { ExecutionFence } from './execution-fence.ts';
import { wrapConnectorError } from '../failure.ts';

/** A run whose machine is gone blocks the next one no longer than this. */
const TTL_MS = 60_000;
const RENEW_MS = 15_000;

export interface Leasing {
  readonly env: Pick<Env, 'clock'>;
  readonly plan: Pick<Plan, 'name'>;
  readonly row: Pick<PlannedRow, 'id' | 'state'>;
  readonly runId: string;
  /** Present where other servers may take the run over. */
  readonly fence?: ExecutionFence | undefined;
  /** The store itself looks at the lease with every write, also where nobody takes the run over. */
  readonly isStrict?: boolean;
  /** Why a second one is refused, in words of its own. */
  readonly conflict?: (holder: string) => string;
  /** What to do when another one has taken over, where it is no run that goes on after its position. */
  readonly afterLoss?: string;
}

/** Checked before a position is stored. */
export interface StateLease {
  /** Stores a position, unless another run has taken over: then it throws, and stores nothing. */
  put(key: string, value: JsonValue): Promise<void>;
  /** Deletes a value on the same condition. */
  delete(key: string): Promise<void>;
  /** Throws when another run is known to have taken over. */
  assertHeld(): void;
  /** Asks the store, and throws when another run has taken over. */
  confirm(): Promise<void>;
  release(): Promise<void>;
}

/** Leases of this process by run and key: invocations of one run may share a key. */
const held = new Map<string, { lease: Promise<RenewedLease>; users: number }>();

export async function takeLease(
  request: Leasing,
  state: StateStore,
  stateKey: string,
): Promise<StateLease> {
  const id = `${tokenOf(request)}\n${stateKey}`;
  const shared = held.get(id) ?? { lease: RenewedLease.take(request, state, stateKey), users: 0 };
  held.set(id, shared);
  shared.users += 1;
  const leave = async (): Promise<RenewedLease | undefined> => {
    shared.users -= 1;
    if (shared.users > 0) return undefined;
    held.delete(id);
    return shared.lease;
  };
  const failed = (error: unknown): never => {
    throw wrapConnectorError('State', request.row.state?.type ?? 'state', error);
  };
  const lease = await shared.lease.catch((error: unknown) => {
    shared.users -= 1;
    if (shared.users === 0) held.delete(id);
    return failed(error);
  });
  return {
    put: (key, value) => lease.put(key, value),
    delete: (key) => lease.delete(key),
    assertHeld: () => lease.assertHeld(),
    confirm: () => lease.confirm().catch(failed),
    release: async () => (await leave())?.release(),
  };
}

/** Executions of one run have different ones. */
function tokenOf({ runId, fence }: Pick<Leasing, 'runId' | 'fence'>): string {
  return fence?.claim === undefined ? runId : `${runId} ${fence.claim}`;
}

interface TakenLease {
  readonly request: { readonly token: string; readonly ttlMs: number; readonly holder: JsonObject };
  readonly clock: Env['clock'];
  readonly isStrict: boolean;
  readonly afterLoss: string;
  readonly endsAt: number;
}

const AFTER_LOSS =
  'what this run wrote since its last position will be written again; look whether its machine was suspended or overloaded';

class RenewedLease {
  readonly #state: StateStore;
  readonly #key: string;
  readonly #request: TakenLease['request'];
  readonly #clock: Env['clock'];
  readonly #isStrict: boolean;
  readonly #afterLoss: string;
  readonly #timer: NodeJS.Timeout;
  /** As `clock.elapsedMs()`: nobody can take it over before. */
  #endsAt: number;
  #other: Lease | undefined;

  static async take(
    {
      env,
      plan,
      row,
      runId,
      fence,
      conflict,
      isStrict = fence !== undefined,
      afterLoss = AFTER_LOSS,
    }: Leasing,
    state: StateStore,
    key: string,
  ): Promise<RenewedLease> {
    const since = env.clock.now().toISOString();
    const claim = fence?.claim;
    const token = tokenOf({ runId, fence });
    const holder = {
      run_id: runId,
      ...(claim === undefined ? {} : { claim }),
      pipeline: plan.name,
      row: row.id,
      since,
      ...thisProcess(),
    };
    const request = { token, ttlMs: TTL_MS, holder };
    const endsAt = env.clock.elapsedMs() + TTL_MS;
    let lease = await state.lease(key, request);
    if (lease.token !== token && (isOver(lease) || isEarlier(lease, runId, claim)))
      lease = await state.lease(key, { ...request, instead: lease.token });
    if (lease.token !== token)
      throw heldByAnother(lease, conflict?.(nameOf(lease)) ?? inUse(key, lease), env.clock.now());
    // It may have been frozen until the run was over elsewhere, and nobody held the lease any more.
    await fence?.assertOwned().catch(async (error: unknown) => {
      await state.release(key, token);
      throw error;
    });
    return new RenewedLease(state, key, {
      request,
      clock: env.clock,
      isStrict,
      afterLoss,
      endsAt,
    });
  }

  private constructor(
    state: StateStore,
    key: string,
    { request, clock, isStrict, afterLoss, endsAt }: TakenLease,
  ) {
    this.#state = state;
    this.#key = key;
    this.#request = request;
    this.#clock = clock;
    this.#isStrict = isStrict;
    this.#afterLoss = afterLoss;
    this.#endsAt = endsAt;
    // A store that does not answer is noticed when a position is stored.
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), RENEW_MS).unref();
  }

  async put(key: string, value: JsonValue): Promise<void> {
    this.assertHeld();
    if (this.#isCertain) await this.#state.put(key, value);
    else if (!(await this.#state.putHeld(key, value, this.#holding))) this.#fail(NO_LEASE);
  }

  async delete(key: string): Promise<void> {
    this.assertHeld();
    if (this.#isCertain) await this.#state.delete(key);
    else if (!(await this.#state.deleteHeld(key, this.#holding))) this.#fail(NO_LEASE);
  }

  get #holding(): Holding {
    return { lease: this.#key, token: this.#request.token };
  }

  /**
   * The store need not look whether the lease is there: nobody takes it over before its end. A
   * process that was frozen for longer, or could not renew it, does not know.
   */
  get #isCertain(): boolean {
    return !this.#isStrict && this.#clock.elapsedMs() < this.#endsAt;
  }

  assertHeld(): void {
    if (this.#other !== undefined) this.#fail(this.#other);
  }

  async confirm(): Promise<void> {
    await this.#renew();
    this.assertHeld();
  }

  #fail(other: Lease): never {
    const by = other.token === '' ? 'another run' : nameOf(other);
    const message = `the state \`${this.#key}\` was taken over by ${by} while this run did not answer`;
    throw new RunError('State', 'state_lease_lost', message, { hint: this.#afterLoss });
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#state.release(this.#key, this.#request.token);
  }

  async #renew(): Promise<void> {
    const request = { ...this.#request, renews: true } as const;
    const endsAt = this.#clock.elapsedMs() + TTL_MS;
    const lease = await this.#state.lease(this.#key, request);
    if (lease.token === this.#request.token) this.#endsAt = endsAt;
    else this.#other = lease;
  }
}

/** An execution of the same run that its server lost, so that it was begun again here. */
function isEarlier({ holder }: Lease, runId: string, claim: number | undefined): boolean {
  const earlier = holder['claim'];
  return (
    holder['run_id'] === runId &&
    claim !== undefined &&
    typeof earlier === 'number' &&
    earlier < claim
  );
}

function inUse(key: string, lease: Lease): string {
  return `the state \`${key}\` is in use by ${nameOf(lease)}: two runs at once would move the same records`;
}

function heldByAnother(lease: Lease, message: string, now: Date): RunError {
  const seconds = Math.max(1, Math.ceil(lease.remainingMs / 1000));
  const until = new Date(now.getTime() + seconds * 1000).toISOString();
  return new RunError('State', 'state_held', message, {
    hint: `wait until that run has ended, or cancel it; should its process be dead, its lease ends in ${seconds} s (${until})`,
  });
}

function nameOf({ holder }: Lease): string {
  const { run_id: run, pid, host, since } = holder;
  return `run \`${text(run)}\` (process ${text(pid)} on \`${text(host)}\`, since ${text(since)})`;
}

function text(value: JsonObject[string] | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
}

/** Whether the holder was a process of this machine that is gone: nobody need wait for its lease. */
function isOver({ token, holder }: Lease): boolean {
  const own = thisProcess();
  if (holder['host'] !== own['host'] || holder['space'] !== own['space']) return false;
  const { pid } = holder;
  if (typeof pid !== 'number') return false;
  // A container that is started again has the same name and process number.
  if (pid === process.pid) return ![...held.keys()].some((id) => id.startsWith(`${token}\n`));
  return !isAlive(pid) || startOf(pid) !== holder['started'];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let own: JsonObject | undefined;

function thisProcess(): JsonObject {
  return (own ??= {
    host: hostname(),
    space: processSpace(),
    pid: process.pid,
    started: startOf(process.pid),
  });
}

/** Process numbers are told apart only within one of these; null where there are none. */
function processSpace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}

/** When a process started, in ticks since the boot: another one may have got its number. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Gives a lease back; it ends by itself when that fails. */
export async function releaseLease(lease: StateLease, log: Env['log']): Promise<void> {
  await lease
    .release()
    .catch((error: unknown) =>
      log.debug('a lease was not given back', { error: messageOf(error) }),
    );
}

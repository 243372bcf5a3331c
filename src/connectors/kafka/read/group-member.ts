/**
 * A member of a consumer group, to which the brokers give partitions. They take all back whenever
 * members come or go; before it agrees to that, what it has read is moved and committed, so that
 * whoever reads a partition next goes on exactly there. A member that is silent is left out by the
 * brokers, and what it had not committed is read again.
 */
import type { Consumer } from '@platformatic/kafka';
import type { SourceContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { kafkaError } from '../../../lib/kafka/kafka.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import type { Position } from './log-reader.ts';
import type { Partition } from './start.ts';

/** Brokers do not take a shorter time unless they are told to. */
const SHORTEST_SESSION_MS = 6000;
const HEARTBEAT_MS = 1000;
/** More than joining takes beyond the time that others have for it. */
const JOIN_MS = 10_000;
const RETRIES = 10;

/** What commits say that come from a member which the group has left out, or in between. */
const LEFT_OUT = /UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION|REBALANCE_IN_PROGRESS|FENCED_INSTANCE_ID/;

export interface GroupTimes {
  readonly sessionMs: number;
  readonly requestMs: number;
}

export function groupTimes(sessionTimeoutSecs: number): GroupTimes {
  const sessionMs = Math.max(SHORTEST_SESSION_MS, Math.round(sessionTimeoutSecs * 1000));
  return { sessionMs, requestMs: sessionMs + JOIN_MS };
}

export interface GroupMemberOptions {
  readonly topics: readonly string[];
  readonly times: GroupTimes;
  readonly context: Pick<SourceContext, 'env' | 'signal'>;
  /** Its connection waits while the others join, so nothing else may go by it. */
  openMember(options: { requestTimeout: number; retries: number }): Consumer;
  openCommitter(options: { retries: number }): Consumer;
}

/** What the member was given by one agreement of the group. */
export interface Assignment {
  readonly generation: number;
  readonly partitions: readonly Partition[];
}

export class GroupMember {
  readonly #options: GroupMemberOptions;
  readonly #member: Consumer;
  readonly #committer: Consumer;
  #assignment: Assignment | undefined;
  #assigned = Promise.withResolvers<void>();
  /** Present while the group waits for what was read to be committed. */
  #handover: PromiseWithResolvers<void> | undefined;
  #failure: unknown;

  constructor(options: GroupMemberOptions) {
    const { times, topics } = options;
    this.#options = options;
    this.#member = options.openMember({ requestTimeout: times.requestMs, retries: RETRIES });
    this.#committer = options.openCommitter({ retries: 0 });
    this.#member.topics.trackAll(...topics);
    this.#member.on('consumer:group:join', () => this.#join());
    this.#member.on('consumer:heartbeat:stalled', ({ lastError }) =>
      this.#fail(lastError ?? new ConnectorError('timeout', 'the group does not answer')),
    );
    this.#member.on('error', (error: unknown) => this.#fail(error));
  }

  /** Resolves when the group has given it partitions for the first time, perhaps none. */
  async join(): Promise<void> {
    const { sessionMs } = this.#options.times;
    await this.#member.joinGroup({
      sessionTimeout: sessionMs,
      rebalanceTimeout: sessionMs,
      heartbeatStallTimeout: sessionMs,
      heartbeatInterval: HEARTBEAT_MS,
      // Asked for before each joining, which waits for it; it is empty for this kind of assignment.
      protocolsMetadata: () => this.#release(),
    });
  }

  /** What it has now; waits while the group agrees anew. */
  async assignment(): Promise<Assignment> {
    for (;;) {
      if (this.#failure !== undefined) throw kafkaError(this.#failure, 'the group is lost');
      if (this.#assignment !== undefined) return this.#assignment;
      await untilAborted(this.#assigned.promise, this.#options.context.signal);
    }
  }

  /** Whether the assignment still holds. */
  has(assignment: Assignment): boolean {
    return this.#assignment === assignment;
  }

  /** Everything that was given is committed: others may go on behind it. */
  handOver(): void {
    this.#handover?.resolve();
  }

  /** True when the group has taken it. */
  async commit(generation: number | undefined, positions: readonly Position[]): Promise<boolean> {
    const { memberId, generationId } = this.#member;
    if (generation !== generationId || memberId === null) return false;
    if (positions.length === 0) return true;
    Object.assign(this.#committer, { memberId, generationId });
    const offsets = positions.map((position) => ({ ...position, leaderEpoch: -1 }));
    try {
      await this.#committer.commit({ offsets });
      return true;
    } catch (error) {
      const failure = kafkaError(error, 'the position cannot be committed to the group');
      if (LEFT_OUT.test(failure.message)) return false;
      throw failure;
    }
  }

  async leave(): Promise<void> {
    this.#handover?.resolve();
    await this.#member.close().catch(() => {});
    await this.#committer.close().catch(() => {});
  }

  #join(): void {
    const { generationId: generation, assignments } = this.#member;
    const partitions = (assignments ?? []).flatMap(({ topic, partitions: numbers }) =>
      numbers.map((partition) => ({ topic, partition })),
    );
    this.#assignment = { generation, partitions };
    this.#wake();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#assignment = undefined;
    this.#handover?.resolve();
    this.#wake();
  }

  #wake(): void {
    this.#assigned.resolve();
    this.#assigned = Promise.withResolvers();
  }

  /** Gives up what it has once that is committed, or after half of the time that the group waits. */
  async #release(): Promise<Buffer> {
    const { env, signal } = this.#options.context;
    if (this.#assignment !== undefined) {
      this.#assignment = undefined;
      const handover = (this.#handover = Promise.withResolvers());
      const waits = new AbortController();
      const late = env.clock.sleep(
        this.#options.times.sessionMs / 2,
        AbortSignal.any([signal, waits.signal]),
      );
      await Promise.race([handover.promise, late]);
      waits.abort();
      this.#handover = undefined;
    }
    return Buffer.alloc(0);
  }
}

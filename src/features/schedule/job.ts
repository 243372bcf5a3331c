/** A document as its scheduler sees it. */
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { ScheduleSpec } from '../../blocks/schedule/schema.ts';
import type { ExecuteOptions } from '../../engine/engine.ts';
import { rowOfInvocation } from '../../engine/expand/iteration.ts';
import { assert } from '../../lib/errors.ts';
import { parseCron, type Cron } from '../../lib/time/cron.ts';
import type { Plan } from '../../plan/plan.ts';
import type { RunOutcome } from '../../wire/outcome.ts';

export interface RunSignals {
  /** Cooperative stop. */
  readonly stop: AbortSignal;
  /** Everything ends now. */
  readonly kill: AbortSignal;
}

export interface Job {
  readonly pipeline: string;
  readonly spec: ScheduleSpec;
  readonly cron: Cron;
  /**
   * Runs the document; `tick` is what `${now.*}` renders. `onAccepted` says that the run is stored,
   * where it is: whatever happens to this process, it is carried out. Undefined when nothing was to
   * be run after all.
   */
  run(tick: Date, signals: RunSignals, onAccepted: () => void): Promise<RunOutcome | undefined>;
  /** How long to leave a destination alone after a run that it refused; 0 when it did not. */
  cooldownMs(outcome: RunOutcome): number;
  /** Tells whom the document names that the scheduler gives up. */
  giveUp?(reason: string): Promise<void>;
}

export interface JobOptions {
  readonly plan: Plan;
  readonly spec: ScheduleSpec;
  readonly execute: (
    options: Pick<ExecuteOptions, 'clock' | 'zone' | 'signal' | 'killSignal'>,
  ) => Promise<RunOutcome>;
  readonly giveUp?: (reason: string) => Promise<void>;
}

export function createJob({ plan, spec, execute, giveUp }: JobOptions): Job {
  const cron = parseCron(spec.cron, spec.timezone);
  assert(!('fault' in cron), 'the block was checked');
  return {
    pipeline: plan.name,
    spec,
    cron,
    run: (tick, { stop, kill }) =>
      execute({ clock: tick, zone: spec.timezone, signal: stop, killSignal: kill }),
    cooldownMs: (outcome) => cooldownOf(cooldownsOf(plan), outcome) * 1000,
    ...(giveUp === undefined ? {} : { giveUp }),
  };
}

/** By row, the seconds for which its destination wants to be left alone once it refuses a run. */
export type Cooldowns = Readonly<Record<string, number>>;

export function cooldownsOf({ rows }: Plan): Cooldowns {
  return Object.fromEntries(
    rows.map((row) => [row.id, blockOf(row, resilienceBlock)?.breaker?.cooldownSecs ?? 0]),
  );
}

export function cooldownOf(cooldowns: Cooldowns, { invocations }: RunOutcome): number {
  const open = invocations.filter(({ error }) => error?.code === 'circuit_open');
  const rows = open.map(({ row_id: name }) =>
    rowOfInvocation(name, (id) => Object.hasOwn(cooldowns, id)),
  );
  return Math.max(0, ...rows.map((id) => (id === undefined ? 0 : (cooldowns[id] ?? 0))));
}

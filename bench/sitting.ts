/** One sitting: every side of a contest in alternation, the program twice in every round. */
import { loadavg } from 'node:os';
import { currentCommit } from './machine.ts';
import type { Bench, Contest, Move, Side } from './move.ts';
import { measure, type Usage } from './process.ts';
import type { Comparison, MoveResult, Role, SideResult, Sitting } from './result.ts';
import { median, speedRatio, summarize } from './statistics.ts';

/** What runs in a round, with its measurements. */
interface Seat {
  readonly side: Side;
  readonly role: Role;
  readonly target: number | undefined;
  readonly usages: Usage[];
}

export async function sit(move: Move, bench: Bench): Promise<MoveResult> {
  const { name, title } = move;
  const before = loadavg()[0] ?? 0;
  const sitting = (): Sitting => ({
    taken: new Date().toISOString(),
    commit: currentCommit(),
    build: bench.build,
    load: [twoDecimals(before), twoDecimals(loadavg()[0] ?? 0)],
  });
  try {
    if (move.kind === 'service')
      return {
        kind: 'service',
        name,
        title,
        how: move.how,
        figures: await move.measure(bench),
        sitting: sitting(),
      };
    const contest = await move.contest(bench);
    const seats = await compete(contest, bench);
    const sides = seats.map((seat) => sideResult(seat, contest.rows));
    return {
      kind: 'processes',
      name,
      title,
      rows: contest.rows,
      sides,
      comparisons: comparisons(seats),
      sitting: sitting(),
    };
  } catch (error) {
    return {
      kind: 'failed',
      name,
      title,
      error: error instanceof Error ? error.message : String(error),
      sitting: sitting(),
    };
  }
}

async function compete({ subject, others }: Contest, bench: Bench): Promise<readonly Seat[]> {
  const seat = (side: Side, role: Role, target?: number): Seat => ({
    side,
    role,
    target,
    usages: [],
  });
  const seats = [
    seat(subject, 'subject'),
    ...others.map((side) => seat(side, side.role, side.target)),
    // The same command again: what it differs by is what the figures cannot tell.
    seat({ ...subject, name: `${subject.name} again` }, 'control'),
  ];
  for (const { side, role } of seats) if (role !== 'control') await perform(side);
  for (let round = 0; round < bench.runs; round++) {
    bench.say(`  round ${round + 1} of ${bench.runs}`);
    // Whoever goes first in one round goes last in the next.
    for (const { side, usages } of round % 2 === 0 ? seats : seats.toReversed())
      usages.push(await perform(side));
  }
  return seats;
}

async function perform(side: Side): Promise<Usage> {
  await side.prepare?.();
  const usage = await measure(side.command);
  await side.verify();
  return usage;
}

function sideResult({ side, role, usages }: Seat, rows: number): SideResult {
  const wallMs = summarize(usages.map((usage) => usage.wallMs));
  const cpu = usages.flatMap(({ cpuMs }) => cpuMs ?? []);
  const rss = usages.flatMap(({ peakRssBytes }) => peakRssBytes ?? []);
  return {
    name: side.name,
    role,
    usages,
    wallMs,
    rowsPerSecond: (rows * 1000) / wallMs.median,
    cpuSecondsPerMillionRows: cpu.length === 0 ? null : (median(cpu) * 1000) / rows,
    peakRssBytes: rss.length === 0 ? null : Math.max(...rss),
    verified: side.verified,
  };
}

function comparisons(seats: readonly Seat[]): Comparison[] {
  const [subject, ...others] = seats;
  if (subject === undefined) return [];
  const times = ({ usages }: Seat): number[] => usages.map(({ wallMs }) => wallMs);
  return others.map((other) => ({
    against: other.side.name,
    target: other.target,
    cpuRatio: cpuRatio(subject, other),
    ...speedRatio(times(subject), times(other)),
  }));
}

function cpuRatio(subject: Seat, other: Seat): number | null {
  const times = ({ usages }: Seat): number[] => usages.flatMap(({ cpuMs }) => cpuMs ?? []);
  const ratio = median(times(other)) / median(times(subject));
  return Number.isFinite(ratio) ? ratio : null;
}

function twoDecimals(load: number): number {
  return Math.round(load * 100) / 100;
}

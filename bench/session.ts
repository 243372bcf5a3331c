/** One session: runs every side of a contest in alternation, the program twice in every round. */
import { loadavg } from 'node:os';
import { currentCommit } from './machine.ts';
import type { Bench, Contest, Move, Side } from './move.ts';
import { measure, type Usage } from './process.ts';
import type { Comparison, MoveResult, Role, SideResult, Session } from './result.ts';
import { median, speedRatio, summarize } from './statistics.ts';

/** What runs in a round, with its measurements. */
interface Contender {
  readonly side: Side;
  readonly role: Role;
  readonly target: number | undefined;
  readonly usages: Usage[];
}

export async function runSession(move: Move, bench: Bench): Promise<MoveResult> {
  const { name, title } = move;
  const before = loadavg()[0] ?? 0;
  const session = (): Session => ({
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
        session: session(),
      };
    const contest = await move.contest(bench);
    const contenders = await compete(contest, bench);
    const sides = contenders.map((contender) => sideResult(contender, contest.rows));
    return {
      kind: 'processes',
      name,
      title,
      rows: contest.rows,
      sides,
      comparisons: comparisons(contenders),
      session: session(),
    };
  } catch (error) {
    return {
      kind: 'failed',
      name,
      title,
      error: error instanceof Error ? error.message : String(error),
      session: session(),
    };
  }
}

async function compete({ subject, others }: Contest, bench: Bench): Promise<readonly Contender[]> {
  const contender = (side: Side, role: Role, target?: number): Contender => ({
    side,
    role,
    target,
    usages: [],
  });
  const contenders = [
    contender(subject, 'subject'),
    ...others.map((side) => contender(side, side.role, side.target)),
    // The same command again: its difference from the first is the noise of the measurement.
    contender({ ...subject, name: `${subject.name} again` }, 'control'),
  ];
  for (const { side, role } of contenders) if (role !== 'control') await perform(side);
  for (let round = 0; round < bench.runs; round++) {
    bench.say(`  round ${round + 1} of ${bench.runs}`);
    // The order is reversed in every other round.
    for (const { side, usages } of round % 2 === 0 ? contenders : contenders.toReversed())
      usages.push(await perform(side));
  }
  return contenders;
}

async function perform(side: Side): Promise<Usage> {
  await side.prepare?.();
  const usage = await measure(side.command);
  await side.verify();
  return usage;
}

function sideResult({ side, role, usages }: Contender, rows: number): SideResult {
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

function comparisons(contenders: readonly Contender[]): Comparison[] {
  const [subject, ...others] = contenders;
  if (subject === undefined) return [];
  const times = ({ usages }: Contender): number[] => usages.map(({ wallMs }) => wallMs);
  return others.map((other) => ({
    against: other.side.name,
    target: other.target,
    cpuRatio: cpuRatio(subject, other),
    ...speedRatio(times(subject), times(other)),
  }));
}

function cpuRatio(subject: Contender, other: Contender): number | null {
  const times = ({ usages }: Contender): number[] => usages.flatMap(({ cpuMs }) => cpuMs ?? []);
  const ratio = median(times(other)) / median(times(subject));
  return Number.isFinite(ratio) ? ratio : null;
}

function twoDecimals(load: number): number {
  return Math.round(load * 100) / 100;
}

/**
 * The stored result: raw samples, and what describes how they were taken. The report is made from
 * it alone.
 */
import { existsSync, readFileSync } from 'node:fs';
import { writeFormatted } from './formatted-file.ts';
import type { Build } from './build.ts';
import type { Machine } from './machine.ts';
import type { Usage } from './process.ts';
import type { Ratio, Summary } from './statistics.ts';

export type Role = 'subject' | 'control' | 'baseline' | 'floor';

export interface SideResult {
  readonly name: string;
  readonly role: Role;
  readonly usages: readonly Usage[];
  readonly wallMs: Summary;
  readonly rowsPerSecond: number;
  readonly cpuSecondsPerMillionRows: number | null;
  readonly peakRssBytes: number | null;
  /** How the content of its output was checked, after every run. */
  readonly verified: string;
}

export interface Comparison extends Ratio {
  readonly against: string;
  /**
   * Of CPU time, medians: what remains of the ratio when other programs take turns on the
   * processors.
   */
  readonly cpuRatio: number | null;
  readonly target: number | undefined;
}

export interface Session {
  readonly taken: string;
  readonly commit: string;
  /** What was measured; results stored before there was a choice have the sources. */
  readonly build?: Build;
  /** Of the last minute, before and after: what else the machine was doing. */
  readonly load: readonly [number, number];
}

export interface Target {
  readonly bound: 'at least' | 'at most';
  readonly value: number;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly target?: Target;
}

export type MoveResult =
  | {
      readonly kind: 'failed';
      readonly name: string;
      readonly title: string;
      readonly error: string;
      readonly session: Session;
    }
  | {
      readonly kind: 'processes';
      readonly name: string;
      readonly title: string;
      readonly rows: number;
      readonly sides: readonly SideResult[];
      readonly comparisons: readonly Comparison[];
      readonly session: Session;
    }
  | {
      readonly kind: 'service';
      readonly name: string;
      readonly title: string;
      readonly how: string;
      readonly figures: readonly Figure[];
      readonly session: Session;
    };

export interface Result {
  readonly format: 1;
  readonly machine: Machine;
  readonly moves: readonly MoveResult[];
}

/** Results stored under an earlier name of `session` are read too. */
type StoredMove = MoveResult | (Omit<MoveResult, 'session'> & { readonly sitting: Session });

export function readResult(path: string): Result {
  const { moves, ...rest } = JSON.parse(readFileSync(path, 'utf8')) as Omit<Result, 'moves'> & {
    readonly moves: readonly StoredMove[];
  };
  return { ...rest, moves: moves.map(withSession) };
}

function withSession(move: StoredMove): MoveResult {
  if (!('sitting' in move)) return move;
  const { sitting, ...rest } = move;
  return { ...rest, session: sitting } as MoveResult;
}

/**
 * Moves that were measured earlier stay, unless they were measured again; another machine or other
 * versions need another file.
 */
export function storeResult(path: string, result: Result): void {
  const earlier = existsSync(path) ? readResult(path) : undefined;
  if (earlier !== undefined && JSON.stringify(earlier.machine) !== JSON.stringify(result.machine))
    throw new Error(
      `${path} holds figures of another machine or other versions; choose another file`,
    );
  const names = new Set(result.moves.map(({ name }) => name));
  const moves = [...(earlier?.moves ?? []).filter(({ name }) => !names.has(name)), ...result.moves];
  writeFormatted(path, JSON.stringify({ ...result, moves }, null, 2));
}

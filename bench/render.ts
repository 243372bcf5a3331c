/** A result as Markdown, for the terminal and for the report. */
import type { Comparison, Figure, MoveResult, SideResult, Session } from './result.ts';
import { summarize } from './statistics.ts';

export function renderMove(move: MoveResult): string {
  return [`### ${move.title}`, '', ...body(move), ''].join('\n');
}

function body(move: MoveResult): string[] {
  switch (move.kind) {
    case 'failed':
      return ['Failed:', '', '```', move.error, '```', '', sessionLine(move.session)];
    case 'processes':
      return [
        ...table(
          ['', 'wall s', 'min – max', 'IQR', 'rows/s', 'CPU s / 1 M rows', 'peak RSS MiB'],
          move.sides.map((side) => sideCells(side)),
        ),
        '',
        ...table(
          [
            'headgate is … times as fast as',
            'ratio',
            'lowest – highest pair',
            'by CPU time',
            'target',
            '',
          ],
          move.comparisons.map(comparisonCells),
        ),
        '',
        `Checked after every run: ${checks(move.sides)}.`,
        '',
        `${count(move.rows)} rows. ${sessionLine(move.session)}`,
      ];
    case 'service':
      return [
        ...table(
          ['', 'median', 'min – max', 'IQR', 'samples', 'target', ''],
          move.figures.map(figureCells),
        ),
        '',
        move.how,
        '',
        sessionLine(move.session),
      ];
    default:
      return move satisfies never;
  }
}

function sideCells({
  name,
  wallMs,
  rowsPerSecond,
  cpuSecondsPerMillionRows,
  peakRssBytes,
}: SideResult): string[] {
  const seconds = (ms: number): string => (ms / 1000).toFixed(2);
  return [
    name,
    seconds(wallMs.median),
    `${seconds(wallMs.min)} – ${seconds(wallMs.max)}`,
    seconds(wallMs.q3 - wallMs.q1),
    count(rowsPerSecond),
    cpuSecondsPerMillionRows === null ? 'not measured' : cpuSecondsPerMillionRows.toFixed(2),
    peakRssBytes === null ? 'not measured' : (peakRssBytes / 2 ** 20).toFixed(0),
  ];
}

function comparisonCells({ against, ratio, low, high, cpuRatio, target }: Comparison): string[] {
  const judged =
    target === undefined
      ? ['', '']
      : [target.toFixed(2), ratio >= target ? 'reached' : '**missed**'];
  return [
    against,
    ratio.toFixed(2),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
    cpuRatio?.toFixed(2) ?? '',
    ...judged,
  ];
}

function figureCells({ name, unit, samples, target }: Figure): string[] {
  const { median, min, max, q1, q3 } = summarize(samples);
  const judged =
    target === undefined
      ? ['', '']
      : [
          `${target.bound} ${number(target.value)}`,
          meets(median, target) ? 'reached' : '**missed**',
        ];
  return [
    `${name}, ${unit}`,
    number(median),
    `${number(min)} – ${number(max)}`,
    number(q3 - q1),
    String(samples.length),
    ...judged,
  ];
}

export function meets(value: number, target: NonNullable<Figure['target']>): boolean {
  return target.bound === 'at least' ? value >= target.value : value <= target.value;
}

function checks(sides: readonly SideResult[]): string {
  const bySide = sides
    .filter(({ role }) => role !== 'control')
    .map(({ name, verified }) => `${name}: ${verified}`);
  return bySide.join('; ');
}

function sessionLine({ taken, commit, build = 'sources', load }: Session): string {
  return `Taken ${taken.slice(0, 16).replace('T', ' ')} UTC at ${commit}, Headgate run from its ${build}; load average ${load[0]} before, ${load[1]} after.`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rows.map(line),
  ];
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function number(value: number): string {
  return value >= 1000 ? count(value) : value.toPrecision(3);
}

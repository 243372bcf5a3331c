import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Line {
  readonly name: string;
  /** A variable of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

export interface Lines {
  /** Epoch milliseconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly height: number;
  readonly format?: (value: number) => string;
}

const SHORTEST_SECS = 60;

/** Gives what takes it away again. */
export function drawLines(
  element: HTMLElement,
  { times, lines, height, format }: Lines,
): () => void {
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  // Of one moment the axis would show years.
  const only = times.length === 1 ? times[0] : undefined;
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 } };
  const values =
    format === undefined
      ? {}
      : { values: (_chart: uPlot, splits: number[]) => splits.map((value) => format(value)) };
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      scales: {
        x: {
          range: (_chart, min, max) =>
            only === undefined ? [min, max] : [only / 1000 - SHORTEST_SECS, only / 1000],
        },
        y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] },
      },
      axes: [axis, { ...axis, size: 70, ...values }],
      series: [
        {},
        ...lines.map(({ name, colour: stroke }) => ({
          label: name,
          stroke: colour(stroke),
          width: 2,
          points: { show: true, size: 6 },
        })),
      ],
    },
    [times.map((at) => at / 1000), ...lines.map((line) => [...line.values])],
    element,
  );
  const follow = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
  follow.observe(element);
  return () => {
    follow.disconnect();
    chart.destroy();
  };
}

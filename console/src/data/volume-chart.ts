import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface Volume {
  readonly recorded_at: string;
  readonly records: number;
}

/** Gives what takes it away again. */
export function drawVolume(
  element: HTMLElement,
  newestFirst: readonly Volume[],
  { height, label }: { readonly height: number; readonly label: string },
): () => void {
  const volumes = newestFirst.toReversed();
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 } };
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      scales: { y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [axis, { ...axis, size: 70 }],
      series: [
        {},
        { label, stroke: colour('--accent'), width: 2, points: { show: true, size: 6 } },
      ],
    },
    [
      volumes.map(({ recorded_at: at }) => Date.parse(at) / 1000),
      volumes.map(({ records }) => records),
    ],
    element,
  );
  const follow = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
  follow.observe(element);
  return () => {
    follow.disconnect();
    chart.destroy();
  };
}

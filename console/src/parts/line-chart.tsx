import { useEffect, useRef } from 'preact/hooks';
import type { Lines } from './draw-lines.ts';

interface LineChartProps extends Omit<Lines, 'height'> {
  /** What it shows, for whoever does not see it. */
  readonly label: string;
}

const HEIGHT = 160;

/** Drawn by uPlot, which is loaded for it. */
export function LineChart({ times, lines, format, label }: LineChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = JSON.stringify([times, lines.map(({ values }) => values)]);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let destroy: (() => void) | undefined;
    let isGone = false;
    void import('./draw-lines.ts').then(({ drawLines }) => {
      const shown = { times, lines, height: HEIGHT, ...(format === undefined ? {} : { format }) };
      if (!isGone) destroy = drawLines(element, shown);
    });
    return () => {
      isGone = true;
      destroy?.();
    };
  }, [drawn]);
  return <div ref={box} class="chart" role="img" aria-label={label} />;
}

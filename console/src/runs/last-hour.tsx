import { T } from '../texts.ts';
import { MINUTES, useLastHour } from './use-last-hour.ts';

/** A bar for each minute of the last hour; what failed stands at its foot. */
export function LastHour() {
  const { data } = useLastHour();
  if (data === undefined) return <div class="last-hour" />;
  const highest = Math.max(1, ...data.minutes.map(({ all }) => all));
  const summary = T.runs.lastHourSummary(data.all, data.failed);
  return (
    <figure class="last-hour">
      <svg
        viewBox={`0 0 ${MINUTES * 4} 32`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${T.runs.lastHour}: ${summary}`}
      >
        {data.minutes.map(({ all, failed }, index) => (
          <g key={index}>
            <rect
              class="bar"
              x={index * 4}
              width={3}
              y={32 - heightOf(all, highest)}
              height={heightOf(all, highest)}
            />
            <rect
              class="bar-failed"
              x={index * 4}
              width={3}
              y={32 - heightOf(failed, highest)}
              height={heightOf(failed, highest)}
            />
          </g>
        ))}
      </svg>
      <figcaption class="muted">{summary}</figcaption>
    </figure>
  );
}

function heightOf(runs: number, highest: number): number {
  return runs === 0 ? 0 : Math.max(2, (runs / highest) * 32);
}

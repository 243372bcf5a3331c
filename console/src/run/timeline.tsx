import { useMemo } from 'preact/hooks';
import { count, duration } from '../lib/format.ts';
import { Status } from '../parts/status.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { T } from '../texts.ts';
import type { Invocation } from './balance.ts';

const ROW = 30;
const MOST_SEEN = 14;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

interface Placed extends Invocation {
  /** Of the whole, 0 to 1. */
  readonly from: number;
  readonly share: number;
}

interface TimelineProps {
  readonly invocations: readonly Invocation[];
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/** When each invocation ran, in the order of their starts. */
export function Timeline({ invocations, startedAt, finishedAt }: TimelineProps) {
  const { placed, totalMs } = useMemo(
    () => place(invocations, startedAt, finishedAt),
    [invocations, startedAt, finishedAt],
  );
  const { run } = T;
  return (
    <section class="card" aria-labelledby="timeline-title">
      <h2 id="timeline-title">
        {run.timeline} <span class="muted">{run.invocations(count(invocations.length))}</span>
      </h2>
      <div
        class="grid timeline"
        role="table"
        aria-labelledby="timeline-title"
        aria-rowcount={placed.length + 1}
      >
        <div role="rowgroup" class="grid-head">
          <div role="row" aria-rowindex={1} class="timeline-row">
            <span role="columnheader">{T.runs.columns.status}</span>
            <span role="columnheader">{run.invocation}</span>
            <span role="columnheader" class="number">
              {run.read}
            </span>
            <span role="columnheader" class="number">
              {run.written}
            </span>
            <span role="columnheader" class="number">
              {run.deadLettered}
            </span>
            <span role="columnheader" class="axis">
              {TICKS.map((tick) => (
                <span key={tick} style={{ left: `${tick * 100}%` }}>
                  {duration((tick * totalMs) / 1000)}
                </span>
              ))}
            </span>
          </div>
        </div>
        <div
          class="timeline-body"
          role="presentation"
          style={{ height: `${Math.min(placed.length, MOST_SEEN) * ROW + 2}px` }}
        >
          <VirtualList role="rowgroup" count={placed.length} rowHeight={ROW}>
            {(index) => {
              const invocation = placed[index];
              return invocation === undefined ? null : <Row of={invocation} index={index} />;
            }}
          </VirtualList>
        </div>
      </div>
    </section>
  );
}

function Row({ of, index }: { readonly of: Placed; readonly index: number }) {
  const took = duration(of.duration_ms / 1000);
  return (
    <div class="timeline-row" role="row" aria-rowindex={index + 2}>
      <span role="cell">
        <Status of={of.status} />
      </span>
      <span role="cell" class="name" title={of.error ?? nameOf(of)}>
        {nameOf(of)}
      </span>
      <span role="cell" class="number">
        {count(of.balance.read)}
      </span>
      <span role="cell" class="number">
        {count(of.balance.written)}
      </span>
      <span role="cell" class="number">
        {count(of.balance.dead_lettered)}
      </span>
      <span role="cell" class="track">
        <span
          class={`span span-${of.status}`}
          style={{ left: `${of.from * 100}%`, width: `${of.share * 100}%` }}
        />
        <Label of={of}>{took}</Label>
      </span>
    </div>
  );
}

/** Behind the bar, before it, or in it: where there is room. */
function Label({
  of: { from, share },
  children,
}: {
  readonly of: Placed;
  readonly children: string;
}) {
  const isBehind = from + share <= 0.8;
  const isBefore = !isBehind && from > 0.3;
  const style = isBefore
    ? { right: `${(1 - from) * 100}%` }
    : { left: `${(isBehind ? from + share : from) * 100}%` };
  return (
    <span class={isBehind || isBefore ? 'span-label' : 'span-label inside'} style={style}>
      {children}
    </span>
  );
}

export function nameOf({ row_id: row, parent_record_key: key }: Invocation): string {
  return key === null ? row : `${row} · ${key}`;
}

/** Runs that were recorded by an earlier version do not say when their invocations began. */
export function place(
  invocations: readonly Invocation[],
  startedAt: string | null,
  finishedAt: string | null,
): { readonly placed: readonly Placed[]; readonly totalMs: number } {
  const starts = invocations.map(({ started_at: at }) => Date.parse(at ?? startedAt ?? ''));
  const known = starts.filter((start) => !Number.isNaN(start));
  const zero = Math.min(...(startedAt === null ? [] : [Date.parse(startedAt)]), ...lowest(known));
  const ends = invocations.map(({ duration_ms: ms }, index) => (starts[index] ?? zero) + ms);
  const last = Math.max(...(finishedAt === null ? [] : [Date.parse(finishedAt)]), ...highest(ends));
  const totalMs = Math.max(1, last - zero);
  const placed = invocations.map((invocation, index) => {
    const from = ((starts[index] ?? zero) - zero) / totalMs;
    const share = Math.min(1 - from, Math.max(0.002, invocation.duration_ms / totalMs));
    return { ...invocation, from, share };
  });
  return { placed: placed.sort((a, b) => a.from - b.from), totalMs };
}

/** Of a list that may be too long to be spread; none of an empty one. */
function lowest(values: readonly number[]): number[] {
  return values.length === 0 ? [] : [values.reduce((a, b) => Math.min(a, b))];
}

function highest(values: readonly number[]): number[] {
  return values.length === 0 ? [] : [values.reduce((a, b) => Math.max(a, b))];
}

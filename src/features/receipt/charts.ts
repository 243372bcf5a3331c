/** The drawings of a receipt: attributes only, because inline styles are forbidden in it. */
import type { Balance } from '../../wire/outcome.ts';
import { markup, type Markup } from './markup.ts';
import type { ReceiptInvocation } from './receipt.ts';

const [WIDTH, HEIGHT, BAR, GAP] = [1000, 96, 10, 8];
/** So that a single record among millions is seen. */
const THINNEST = 2;
const ENDS = ['written', 'dead_lettered', 'withheld', 'filtered'] as const;

/** What came in on the left, where it went on the right, in proportion. */
export function flowChart(balance: Balance): Markup | undefined {
  const ends = ENDS.filter((end) => balance[end] > 0);
  const total = ends.reduce((sum, end) => sum + balance[end], 0);
  if (total === 0) return undefined;
  const room = HEIGHT - GAP * (ends.length - 1) - THINNEST * ends.length;
  const thick = (records: number): number => THINNEST + (records / total) * room;
  const inflow = ends.reduce((sum, end) => sum + thick(balance[end]), 0);
  let left = (HEIGHT - inflow) / 2;
  let right = 0;
  const bands = ends.map((end) => {
    const height = thick(balance[end]);
    const band = bandBetween(end, { left, right, height });
    left += height;
    right += height + GAP;
    return band;
  });
  return markup`<svg
    class="flow"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="Where the records went"
  >
    ${bands} ${inflowBars(balance, { from: (HEIGHT - inflow) / 2, height: inflow })}
  </svg>`;
}

/** What was read, and below it what the transforms made beyond that. */
function inflowBars(
  { read, expanded }: Balance,
  { from, height }: { readonly from: number; readonly height: number },
): Markup {
  const readHeight = (height * read) / Math.max(1, read + expanded);
  return markup`<rect
      class="f-through"
      x="0"
      y="${fixed(from)}"
      width="${BAR}"
      height="${fixed(readHeight)}"
    /><rect
      class="f-expanded"
      x="0"
      y="${fixed(from + readHeight)}"
      width="${BAR}"
      height="${fixed(height - readHeight)}"
    />`;
}

interface Span {
  readonly left: number;
  readonly right: number;
  readonly height: number;
}

function bandBetween(end: string, { left, right, height }: Span): Markup {
  const [from, to, middle] = [BAR, WIDTH - BAR, WIDTH / 2];
  const [l0, l1, r0, r1] = [left, left + height, right, right + height].map((y) => fixed(y));
  return markup`<path
      class="band f-${end}"
      d="M${from},${l0} C${middle},${l0} ${middle},${r0} ${to},${r0} L${to},${r1} C${middle},${r1} ${middle},${l1} ${from},${l1} Z"
    /><rect class="f-${end}" x="${to}" y="${r0}" width="${BAR}" height="${fixed(height)}" />`;
}

function fixed(value: number): string {
  return value.toFixed(2);
}

export interface TimeSpan {
  readonly startMs: number;
  readonly totalMs: number;
}

export function spanOf(invocations: readonly ReceiptInvocation[]): TimeSpan | undefined {
  const starts = invocations.flatMap(({ started_at: at }) =>
    at === undefined ? [] : [Date.parse(at)],
  );
  if (starts.length === 0) return undefined;
  const startMs = starts.reduce((first, start) => Math.min(first, start));
  const endMs = invocations.reduce(
    (last, { started_at: at, duration_ms: took }) =>
      at === undefined ? last : Math.max(last, Date.parse(at) + took),
    startMs,
  );
  return { startMs, totalMs: Math.max(1, endMs - startMs) };
}

/** When an invocation ran, as a bar in the time of the whole run. */
export function timeBar(invocation: ReceiptInvocation, { startMs, totalMs }: TimeSpan): Markup {
  const { started_at: at, duration_ms: took, status } = invocation;
  if (at === undefined) return markup``;
  const from = ((Date.parse(at) - startMs) / totalMs) * 100;
  const width = Math.max(0.5, (took / totalMs) * 100);
  const x = Math.min(from, 100 - width);
  return markup`<svg aria-hidden="true">
    <rect class="track" width="100%" height="12" rx="2" />
    <rect class="b-${status}" x="${fixed(x)}%" width="${fixed(width)}%" height="12" rx="2" />
  </svg>`;
}

import { count } from '../lib/format.ts';
import { Icon } from '../parts/icons.tsx';
import { T } from '../texts.ts';
import { closes, type Balance } from './balance.ts';

/** Of the drawing, in units of its own. */
const [WIDTH, HEIGHT, BAR] = [1000, 200, 14];
const GAP = 14;
/** So that a single record among millions is seen. */
const THINNEST = 3;

type Ending = 'written' | 'dead_lettered' | 'withheld' | 'filtered';

/** Where every record went, as a flow and as the equation that it is. */
export function Receipt({ balance }: { readonly balance: Balance }) {
  const isClosed = closes(balance);
  return (
    <section class="card receipt" aria-labelledby="receipt-title">
      <h2 id="receipt-title">{T.run.receipt}</h2>
      <Flow balance={balance} />
      <Equation balance={balance} />
      <p class={isClosed ? 'closes' : 'problem'}>
        <Icon name={isClosed ? 'completed' : 'warning'} /> {isClosed ? T.run.closes : T.run.open}
      </p>
    </section>
  );
}

function Equation({ balance }: { readonly balance: Balance }) {
  const terms: readonly (readonly [string, string, number, string])[] = [
    ['', T.run.read, balance.read, 'read'],
    ['−', T.run.filtered, balance.filtered, 'filtered'],
    ['+', T.run.expanded, balance.expanded, 'expanded'],
    ['=', T.run.transformed, balance.transformed, 'transformed'],
    ['=', T.run.written, balance.written, 'written'],
    ['+', T.run.deadLettered, balance.dead_lettered, 'dead_lettered'],
    ['+', T.run.withheld, balance.withheld, 'withheld'],
  ];
  return (
    <dl class="equation">
      {terms.map(([sign, name, records, kind]) => (
        <div key={kind} class={`term term-${kind}`} data-term={kind}>
          <dt>{name}</dt>
          <dd>
            <span class="sign" aria-hidden="true">
              {sign}
            </span>
            {count(records)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface Band {
  readonly kind: Ending | 'expanded' | 'through';
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
  /** Where it begins and ends, from left to right. */
  readonly x: readonly [number, number];
}

function Flow({ balance }: { readonly balance: Balance }) {
  const bands = bandsOf(balance);
  if (bands.length === 0) return null;
  return (
    <svg
      class="flow"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={T.run.flow}
    >
      {bands.map((band, index) => (
        <path key={index} class={`band band-${band.kind}`} d={pathOf(band)} />
      ))}
      {bands
        .flatMap((band) => barsOf(band))
        .map(({ kind, x, from, to }, index) => (
          <rect
            key={index}
            class={`bar band band-${kind}`}
            x={x}
            y={from}
            width={BAR}
            height={to - from}
          />
        ))}
    </svg>
  );
}

/**
 * What is read and what is added flows into what the transforms gave, which flows into its ends.
 * What is filtered out leaves at half way.
 */
export function bandsOf(balance: Balance): Band[] {
  const total = balance.read + balance.expanded;
  if (total === 0) return [];
  const ends: readonly (readonly [Ending, number])[] = (
    [
      ['written', balance.written],
      ['dead_lettered', balance.dead_lettered],
      ['withheld', balance.withheld],
      ['filtered', balance.filtered],
    ] as const
  ).filter(([, records]) => records > 0);
  const room = HEIGHT - GAP * Math.max(0, ends.length - 1) - THINNEST * ends.length;
  const unit = Math.max(0, room) / total;
  const high = (records: number): number => (records === 0 ? 0 : THINNEST + records * unit);
  const kept = ends.filter(([kind]) => kind !== 'filtered');
  const bands: Band[] = [];
  const middle = 420;
  let [left, right] = [0, 0];
  // Through the transforms; what is filtered stays below.
  const through = kept.reduce((sum, [, records]) => sum + high(records), 0);
  const read = through - (balance.expanded > 0 ? high(balance.expanded) : 0);
  if (through > 0)
    bands.push({
      kind: 'through',
      from: [0, Math.max(THINNEST, read)],
      to: [0, through],
      x: [0, middle],
    });
  left = through + (balance.filtered > 0 ? GAP : 0);
  if (balance.expanded > 0)
    bands.push({
      kind: 'expanded',
      from: [Math.max(THINNEST, read), through],
      to: [Math.max(THINNEST, read), through],
      x: [middle / 2, middle],
    });
  let start = 0;
  for (const [kind, records] of ends) {
    const thick = high(records);
    if (kind === 'filtered') {
      bands.push({ kind, from: [left, left + thick], to: [right, right + thick], x: [0, WIDTH] });
    } else {
      bands.push({
        kind,
        from: [start, start + thick],
        to: [right, right + thick],
        x: [middle, WIDTH],
      });
      start += thick;
    }
    right += thick + GAP;
  }
  return bands;
}

function pathOf({ from, to, x: [x0, x1] }: Band): string {
  const middle = (x0 + x1) / 2;
  return [
    `M${x0},${from[0]}`,
    `C${middle},${from[0]} ${middle},${to[0]} ${x1},${to[0]}`,
    `L${x1},${to[1]}`,
    `C${middle},${to[1]} ${middle},${from[1]} ${x0},${from[1]}`,
    'Z',
  ].join(' ');
}

interface Bar {
  readonly kind: Band['kind'];
  readonly x: number;
  readonly from: number;
  readonly to: number;
}

/** What stands where a band begins or ends at a side of the drawing, or at the transforms. */
function barsOf({ kind, from, to, x }: Band): readonly Bar[] {
  const right = { kind, x: Math.min(x[1], WIDTH) - BAR, from: to[0], to: to[1] };
  if (kind === 'expanded') return [];
  if (kind === 'through' || kind === 'filtered')
    return [{ kind, x: x[0], from: from[0], to: from[1] }, right];
  return [right];
}

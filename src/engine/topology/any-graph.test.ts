import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runGraph, type Edge } from '../../../test/fakes/graph.ts';
import { fakeSink, fakeSource, type FakePage, type FakeSink } from '../../../test/fakes/plan.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';

/** What a stream of records holds, as far as order does not matter. */
type Records = readonly JsonObject[];

interface Stream {
  readonly from: string;
  readonly records: Records;
}

/** A choice of what to do next with the open streams; the numbers say with which of them. */
type Step = readonly [
  what: 'tee' | 'merge' | 'join' | 'left' | 'drop' | 'mark',
  one: number,
  other: number,
];

interface Drawn {
  readonly nodes: JsonObject;
  readonly edges: readonly Edge[];
  readonly sources: Readonly<Record<string, Records>>;
  /** What has to arrive, by sink. */
  readonly expected: Readonly<Record<string, Records>>;
}

const MAX_RECORDS = 400;

/** Builds a graph and, beside it, what it means. */
function draw(sizes: readonly number[], steps: readonly Step[]): Drawn {
  const nodes: JsonObject = {};
  const edges: Edge[] = [];
  const sources: Record<string, Records> = {};
  let open: Stream[] = sizes.map((size, index) => {
    const id = `s${index}`;
    nodes[id] = { kind: 'source', type: id };
    sources[id] = Array.from({ length: size }, (_, n) => ({ id: n, [id]: n }));
    return { from: id, records: sources[id] };
  });
  const close = (...gone: Stream[]): void =>
    void (open = open.filter((stream) => !gone.includes(stream)));
  for (const [at, [what, a, b]] of steps.entries()) {
    const id = `${what}${at}`;
    const one = open[a % open.length];
    const other = open[b % open.length];
    if (one === undefined || other === undefined) break;
    if (what === 'tee') {
      nodes[id] = { kind: 'tee', channel_capacity: 1 };
      edges.push([one.from, id]);
      close(one);
      open.push({ from: id, records: one.records }, { from: id, records: one.records });
    } else if (what === 'drop' || what === 'mark') {
      const few = { path: 'id', op: 'in', value: [0, 1, 2, 3, 4] };
      nodes[id] = {
        kind: 'transform',
        transforms: [
          what === 'drop'
            ? { type: 'filter', config: few }
            : { type: 'set', config: { values: { [id]: true } } },
        ],
      };
      edges.push([one.from, id]);
      close(one);
      const records =
        what === 'drop'
          ? one.records.filter((record) => Number(record['id']) < 5)
          : one.records.map((record) => ({ ...record, [id]: true }));
      open.push({ from: id, records });
    } else if (one !== other && what === 'merge') {
      // The same edge twice is not possible; a step between makes two of it.
      edges.push(
        [through(one, `${id}a`, nodes, edges), id],
        [through(other, `${id}b`, nodes, edges), id],
      );
      nodes[id] = { kind: 'merge' };
      close(one, other);
      open.push({ from: id, records: [...one.records, ...other.records] });
    } else if (one !== other && what !== 'merge') {
      const mode = what === 'left' ? 'left' : 'inner';
      const records = one.records.flatMap((probe) => {
        const matches = other.records.filter((build) => build['id'] === probe['id']).length;
        return Array.from({ length: matches === 0 && mode === 'left' ? 1 : matches }, () => ({
          ...probe,
        }));
      });
      if (records.length > MAX_RECORDS) continue;
      nodes[id] = {
        kind: 'join',
        mode,
        on_duplicate: 'cartesian',
        build: { edge: 'b', key: 'id' },
        probe: { edge: 'p', key: 'id' },
      };
      edges.push([one.from, id, 'p'], [other.from, id, 'b']);
      close(one, other);
      open.push({ from: id, records });
    }
  }
  const expected: Record<string, Records> = {};
  for (const [index, { from, records }] of open.entries()) {
    nodes[`w${index}`] = { kind: 'sink', type: `w${index}` };
    edges.push([from, `w${index}`]);
    expected[`w${index}`] = records;
  }
  return { nodes, edges, sources, expected };
}

function through(stream: Stream, id: string, nodes: JsonObject, edges: Edge[]): string {
  nodes[id] = { kind: 'transform' };
  edges.push([stream.from, id]);
  return id;
}

const sorted = (records: Records): string[] =>
  records.map((record) => stringifyJson(sortedKeys(record))).sort();
const sortedKeys = (record: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** One record a page: far more pages than the edges hold. */
const pagesOf = (records: Records): FakePage[] =>
  records.map((record, index) => ({ records: [record], bookmark: index + 1 }));

const step = fc.tuple(
  fc.constantFrom('tee', 'tee', 'merge', 'join', 'left', 'drop', 'mark'),
  fc.nat(9),
  fc.nat(9),
);

it(
  'whatever the graph, it ends, every sink gets what the graph means, and the balances close',
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
        fc.array(step as fc.Arbitrary<Step>, { maxLength: 8 }),
        async (sizes, steps) => {
          const drawn = draw(sizes, steps);
          const sinks = Object.fromEntries(
            Object.keys(drawn.expected).map((id) => [id, fakeSink()]),
          );
          const outcome = await runGraph(drawn, {
            sources: Object.fromEntries(
              Object.entries(drawn.sources).map(([id, records]) => [
                id,
                fakeSource(pagesOf(records)),
              ]),
            ),
            sinks: Object.fromEntries(
              Object.entries(sinks).map(([id, { definition }]) => [id, definition]),
            ),
          });
          expect(outcome.error).toBeNull();
          for (const [id, records] of Object.entries(drawn.expected)) {
            expect(sorted((sinks[id] as FakeSink).records as Records)).toEqual(sorted(records));
          }
          for (const { records_in: into, filtered, expanded, records_out: out } of outcome.nodes ??
            [])
            expect(into - filtered + expanded).toBe(out);
        },
      ),
      { numRuns: 150 },
    );
  },
);

import { lazy, Suspense } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { CatalogGetAnswer } from '../../../src/client/index.ts';
import { shortAddress, type Graph } from '../graph/graph.ts';
import { linkTo } from '../lib/address.ts';
import { Loading } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const GraphView = lazy(async () => (await import('../graph/graph-view.tsx')).GraphView);

interface Origin {
  readonly id: string;
  readonly uri: string;
  readonly from: string;
  readonly to: string;
}

/** Which columns of other data sets the columns of this one were made of. */
export function Columns({ of }: { readonly of: CatalogGetAnswer }) {
  const origins = useMemo(() => originsOf(of), [of]);
  const graph = useMemo(() => graphOf(origins), [origins]);
  const { data: words } = T;
  if (origins.length === 0) return null;
  return (
    <section class="card">
      <h2>{words.columns}</h2>
      <Suspense fallback={<Loading />}>
        <GraphView
          graph={graph}
          label={words.columnsLabel}
          table={
            <Table
              label={words.columnsLabel}
              rows={origins}
              keyOf={({ id, from, to }) => JSON.stringify([id, from, to])}
              columns={[
                {
                  name: words.upstream,
                  cell: ({ id, uri }) => <a href={linkTo(['data', 'datasets', id])}>{uri}</a>,
                },
                { name: words.column, cell: ({ from }) => <code>{from}</code> },
                { name: words.downstream, cell: ({ to }) => <code>{to}</code> },
              ]}
            />
          }
        />
      </Suspense>
    </section>
  );
}

export function originsOf({ upstream }: Pick<CatalogGetAnswer, 'upstream'>): Origin[] {
  const origins = upstream.flatMap(({ src_id: id, src_uri: uri, column_lineage: lineage }) =>
    Object.entries(lineage?.fields ?? {}).flatMap(([to, sources]) =>
      sources.map((from) => ({ id, uri, from, to })),
    ),
  );
  return [
    ...new Map(origins.map((one) => [JSON.stringify([one.id, one.from, one.to]), one])).values(),
  ];
}

function graphOf(origins: readonly Origin[]): Graph {
  const nodes = new Map<string, Graph['nodes'][number]>();
  const idOf = (side: string, ...names: readonly string[]): string =>
    JSON.stringify([side, ...names]);
  for (const { id, uri, from, to } of origins) {
    const source = idOf('from', id, from);
    nodes.set(source, {
      id: source,
      label: from,
      detail: shortAddress(uri).label,
      kind: 'column',
      link: linkTo(['data', 'datasets', id]),
    });
    const target = idOf('to', to);
    nodes.set(target, { id: target, label: to, kind: 'column' });
  }
  return {
    nodes: [...nodes.values()],
    edges: origins.map(({ id, from, to }) => ({ from: idOf('from', id, from), to: idOf('to', to) })),
  };
}

import { lazy, Suspense } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { CatalogLineageAnswer } from '../../../src/client/index.ts';
import { shortAddress, type Graph } from '../graph/graph.ts';
import { answerOf } from '../lib/answer.ts';
import { linkTo } from '../lib/address.ts';
import { count } from '../lib/format.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Loading, Time } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const GraphView = lazy(async () => (await import('../graph/graph-view.tsx')).GraphView);

/** Rows of the table. */
const MOST = 500;
export type Edges = CatalogLineageAnswer['edges'];

export function Lineage() {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/catalog/lineage', { signal })),
  );
  const { data: words } = T;
  return (
    <AskedView of={asked}>
      {({ edges }) =>
        edges.length === 0 ? (
          <Empty title={words.noLineage}>{words.noLineageHint}</Empty>
        ) : (
          <LineageGraph edges={edges} />
        )
      }
    </AskedView>
  );
}

export function LineageGraph({ edges }: { readonly edges: Edges }) {
  const graph = useMemo(() => graphOf(edges), [edges]);
  return (
    <Suspense fallback={<Loading />}>
      <GraphView graph={graph} label={T.data.lineageLabel} table={<Movements edges={edges} />} />
    </Suspense>
  );
}

export function graphOf(edges: Edges): Graph {
  const nodes = new Map<string, Graph['nodes'][number]>();
  const add = (id: string, uri: string): void => {
    if (!nodes.has(id))
      nodes.set(id, {
        id,
        ...shortAddress(uri),
        kind: 'dataset',
        link: linkTo(['data', 'datasets', id]),
      });
  };
  for (const { src_id: from, src_uri: fromUri, dst_id: to, dst_uri: toUri } of edges) {
    add(from, fromUri);
    add(to, toUri);
  }
  return {
    nodes: [...nodes.values()],
    edges: edges.map(({ src_id: from, dst_id: to }) => ({ from, to })),
  };
}

function Movements({ edges }: { readonly edges: Edges }) {
  const { data: words } = T;
  return (
    <>
      {edges.length > MOST ? <p class="notice">{words.tooMany(MOST, edges.length)}</p> : null}
      <Table
        label={words.lineageLabel}
        rows={edges.slice(0, MOST)}
        keyOf={({ src_id: from, dst_id: to, pipeline, row }) => [from, to, pipeline, row].join(' ')}
        columns={[
          {
            name: words.upstream,
            cell: ({ src_id: id, src_uri: uri }) => (
              <a href={linkTo(['data', 'datasets', id])}>{uri}</a>
            ),
          },
          {
            name: words.downstream,
            cell: ({ dst_id: id, dst_uri: uri }) => (
              <a href={linkTo(['data', 'datasets', id])}>{uri}</a>
            ),
          },
          { name: T.runs.columns.name, cell: ({ pipeline, row }) => `${pipeline}, ${row}` },
          {
            name: words.lastSeen,
            cell: ({ last_seen: at, last_run_id: run }) => (
              <a href={linkTo(['runs', run])}>
                <Time at={at} />
              </a>
            ),
          },
          {
            name: words.lastRecords,
            isNumber: true,
            cell: ({ last_records: records }) => count(records),
          },
        ]}
      />
    </>
  );
}

/** What went through the nodes of a graph before its sinks, which stand in the timeline. */
import { count } from '../lib/format.ts';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';
import type { Nodes } from './plan-graph.tsx';

export function NodeTable({ nodes = [] }: { readonly nodes: Nodes | undefined }) {
  if (nodes.length === 0) return null;
  const { nodes: words } = T.run;
  const counts = [
    [words.given, 'records_in'],
    [T.run.filtered, 'filtered'],
    [T.run.expanded, 'expanded'],
    [T.run.deadLettered, 'dead_lettered'],
    [words.handedOn, 'records_out'],
  ] as const;
  return (
    <section class="card" aria-labelledby="nodes-title">
      <h2 id="nodes-title">{words.title}</h2>
      <Table
        label={words.title}
        rows={nodes}
        keyOf={({ id }) => id}
        columns={[
          { name: words.node, cell: ({ id }) => id },
          { name: words.kind, cell: ({ kind }) => kind },
          { name: T.runs.columns.status, cell: ({ status }) => <Status of={status} /> },
          ...counts.map(([name, key]) => ({
            name,
            isNumber: true,
            cell: (node: Nodes[number]) => count(node[key]),
          })),
        ]}
      />
    </section>
  );
}

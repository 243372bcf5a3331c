import type { RunGetAnswer } from '../../../src/client/index.ts';
import { LineageGraph, type Edges } from '../data/lineage.tsx';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty } from '../parts/small.tsx';
import { T } from '../texts.ts';

/** From which data set to which the rows of this run moved records. */
export function RunLineage({ run }: { readonly run: RunGetAnswer }) {
  const { run_id: id, status, invocations, finished_at: ended } = run;
  const asked = useAsked(
    async (client, signal): Promise<Edges> => {
      if (status !== 'completed') return [];
      const [plan, { edges }] = await Promise.all([
        client.routes
          .GET('/v1/runs/{id}/plan', { params: { path: { id } }, signal })
          .then(answerOf),
        client.routes.GET('/v1/catalog/lineage', { signal }).then(answerOf),
      ]);
      const rows = new Set(invocations.map(({ row }) => row));
      // The catalog names the latest run of a movement; a row of the same pipeline is the same one,
      // unless it is the movement of a later document.
      return edges.filter(
        ({ pipeline, row, last_run_id: last, first_seen: since }) =>
          last === id || (pipeline === plan.name && rows.has(row) && since <= (ended ?? '')),
      );
    },
    { about: [id, status] },
  );
  const { lineage: words } = T.run;
  return (
    <AskedView of={asked}>
      {(edges) => {
        const later = edges.filter(({ last_run_id: last }) => last !== id).length;
        if (edges.length === 0) return <Empty title={words.empty}>{words.emptyHint}</Empty>;
        return (
          <>
            {later === 0 ? null : <p class="notice">{words.since(later)}</p>}
            <LineageGraph edges={edges} />
          </>
        );
      }}
    </AskedView>
  );
}

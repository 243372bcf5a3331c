import { linkTo } from '../lib/address.ts';
import { count } from '../lib/format.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const MOST = 500;

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
          <>
            {edges.length > MOST ? <p class="notice">{words.tooMany(MOST, edges.length)}</p> : null}
            <Table
              label={words.lineageLabel}
              rows={edges.slice(0, MOST)}
              keyOf={({ src_id: from, dst_id: to, pipeline, row }) => [from, to, pipeline, row].join(' ')}
              columns={[
                { name: words.upstream, cell: ({ src_id: id, src_uri: uri }) => <a href={linkTo(['data', 'datasets', id])}>{uri}</a> },
                { name: words.downstream, cell: ({ dst_id: id, dst_uri: uri }) => <a href={linkTo(['data', 'datasets', id])}>{uri}</a> },
                { name: T.runs.columns.name, cell: ({ pipeline, row }) => `${pipeline}, ${row}` },
                { name: words.lastSeen, cell: ({ last_seen: at, last_run_id: run }) => <a href={linkTo(['runs', run])}><Time at={at} /></a> },
                { name: words.lastRecords, isNumber: true, cell: ({ last_records: records }) => count(records) },
              ]}
            />
          </>
        )
      }
    </AskedView>
  );
}

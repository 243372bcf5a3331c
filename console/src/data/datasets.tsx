import { useState } from 'preact/hooks';
import { address, linkTo, setQuery } from '../lib/address.ts';
import { count } from '../lib/format.ts';
import { useStore } from '../lib/store.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const PAGE = 200;

export function Datasets() {
  const { query } = useStore(address);
  const wanted = query.get('q') ?? '';
  const [limit, setLimit] = useState(PAGE);
  const asked = useAsked(
    async (client, signal) =>
      answerOf(
        await client.routes.GET('/v1/catalog/datasets', {
          params: { query: { limit, ...(wanted === '' ? {} : { q: wanted }) } },
          signal,
        }),
      ),
    { about: [wanted, limit] },
  );
  const { data: words } = T;
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label={words.search}
          placeholder={words.search}
          value={wanted}
          onChange={({ currentTarget }) => setQuery({ q: currentTarget.value.trim() })}
        />
      </form>
      <AskedView of={asked}>
        {({ datasets, next_cursor: next }) =>
          datasets.length === 0 ? (
            <Empty title={words.empty}>{words.emptyHint}</Empty>
          ) : (
            <>
              <Table
                label={words.tabs.datasets}
                rows={datasets}
                keyOf={({ id }) => id}
                columns={[
                  { name: words.uri, cell: ({ id, uri }) => <a href={linkTo(['data', 'datasets', id])}>{uri}</a> },
                  { name: words.kind, cell: ({ kind }) => kind },
                  { name: words.roles, cell: ({ roles }) => roles.join(', ') },
                  { name: words.lastSeen, cell: ({ last_seen: at }) => <Time at={at} /> },
                  { name: words.lastRecords, isNumber: true, cell: ({ last_records: records }) => count(records) },
                  { name: words.total, isNumber: true, cell: ({ total_records: records }) => count(records) },
                  { name: words.versions, isNumber: true, cell: ({ schema_versions: versions }) => versions },
                ]}
              />
              {next === null ? null : (
                <button type="button" onClick={() => setLimit((now) => Math.min(1000, now + PAGE))}>
                  {T.common.more}
                </button>
              )}
            </>
          )
        }
      </AskedView>
    </>
  );
}

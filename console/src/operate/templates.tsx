import { linkTo } from '../lib/address.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time, Value } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

export function Templates() {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/templates', { signal })),
  );
  const { operate: words } = T;
  return (
    <AskedView of={asked}>
      {({ templates }) =>
        templates.length === 0 ? (
          <Empty title={words.noTemplates}>{words.noTemplatesHint}</Empty>
        ) : (
          <Table
            label={words.tabs.templates}
            rows={templates}
            keyOf={({ id }) => id}
            columns={[
              {
                name: words.name,
                cell: ({ id }) => <a href={linkTo(['operate', 'templates', id])}>{id}</a>,
              },
              { name: words.kind, cell: ({ kind }) => kind },
              { name: words.state, cell: ({ status }) => status },
              { name: words.version, isNumber: true, cell: ({ version }) => version },
              {
                name: words.channels,
                cell: ({ stable, previous }) => <Value of={channels(stable, previous)} />,
              },
              { name: words.created, cell: ({ created_at: at }) => <Time at={at} /> },
            ]}
          />
        )
      }
    </AskedView>
  );
}

function channels(stable: unknown, previous: unknown): string[] {
  return [
    ...(typeof stable === 'number' ? [`stable ${stable}`] : []),
    ...(typeof previous === 'number' ? [`previous ${previous}`] : []),
  ];
}

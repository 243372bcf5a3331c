import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time } from '../parts/small.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const EVERY_MS = 3000;

export function Cluster() {
  const asked = useAsked(
    async (client, signal) => answerOf(await client.routes.GET('/v1/cluster', { signal })),
    { everyMs: EVERY_MS },
  );
  const { operate: words } = T;
  return (
    <AskedView of={asked}>
      {({ enabled, members }) =>
        enabled ? (
          <Table
            label={words.tabs.cluster}
            rows={members}
            keyOf={({ instance_id: id }) => id}
            columns={[
              { name: words.state, cell: ({ status }) => <Status of={status} /> },
              {
                name: words.instance,
                cell: ({ host, pid, listen, is_self: isSelf }) =>
                  `${listen ?? `${host}, process ${pid}`}${isSelf ? ` (${words.self})` : ''}`,
              },
              {
                name: words.load,
                isNumber: true,
                cell: ({ in_flight: now, max_concurrent: most }) => `${now} / ${most}`,
              },
              { name: words.seen, cell: ({ seen_at: at }) => <Time at={at} isRelative /> },
              { name: words.since, cell: ({ started_at: at }) => <Time at={at} /> },
            ]}
          />
        ) : (
          <Empty title={words.alone}>{words.aloneHint}</Empty>
        )
      }
    </AskedView>
  );
}

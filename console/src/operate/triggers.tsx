import type { TriggerListAnswer } from '../../../src/client/index.ts';
import { linkTo } from '../lib/address.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time } from '../parts/small.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

type Trigger = TriggerListAnswer['triggers'][number];
const EVERY_MS = 5000;

export function Triggers() {
  const asked = useAsked(
    async (client, signal) => answerOf(await client.routes.GET('/v1/triggers', { signal })),
    { everyMs: EVERY_MS },
  );
  const { operate: words } = T;
  return (
    <AskedView of={asked}>
      {({ triggers }) =>
        triggers.length === 0 ? (
          <Empty title={words.noTriggers}>{words.noTriggersHint}</Empty>
        ) : (
          <Table
            label={words.tabs.triggers}
            rows={triggers}
            keyOf={({ name }) => name}
            columns={[
              { name: words.state, cell: stateCell },
              { name: words.name, cell: nameCell },
              { name: words.kind, cell: ({ type }) => type },
              { name: words.starts, cell: ({ starts }) => starts },
              { name: words.lastFire, cell: lastCell },
            ]}
          />
        )
      }
    </AskedView>
  );
}

function stateCell({ enabled, healthy }: Trigger) {
  return <Status of={enabled ? (healthy ? 'healthy' : 'unhealthy') : 'off'} />;
}

function nameCell({ name, last_error: error }: Trigger) {
  return (
    <>
      {name}
      {error === null ? null : <span class="row-error">{error}</span>}
    </>
  );
}

function lastCell({ last_fire: at, last_run_id: id }: Trigger) {
  if (at === null) return <span class="muted">{T.operate.never}</span>;
  return id === null ? (
    <Time at={at} />
  ) : (
    <a href={linkTo(['runs', id])}>
      <Time at={at} />
    </a>
  );
}

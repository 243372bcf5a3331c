import type { HeadgateClient, ScheduleListAnswer } from '../../../src/client/index.ts';
import { linkTo } from '../lib/address.ts';
import { ask, may } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { messageOf } from '../parts/failure.tsx';
import { Empty, notify, Time } from '../parts/small.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

type Schedule = ScheduleListAnswer['schedules'][number];
const EVERY_MS = 5000;

export function Schedules() {
  const asked = useAsked(
    async (client, signal) => answerOf(await client.routes.GET('/v1/schedules', { signal })),
    { everyMs: EVERY_MS },
  );
  const act = (what: (client: HeadgateClient) => Promise<unknown>): void => {
    ask(what).then(asked.reload, (error: unknown) => notify(messageOf(error)));
  };
  const { operate: words } = T;
  return (
    <AskedView of={asked}>
      {({ schedules }) =>
        schedules.length === 0 ? (
          <Empty title={words.noSchedules}>{words.noSchedulesHint}</Empty>
        ) : (
          <Table
            label={words.tabs.schedules}
            rows={schedules}
            keyOf={({ name }) => name}
            columns={[
              { name: words.state, cell: ({ state }) => <Status of={state} /> },
              { name: words.name, cell: nameCell },
              {
                name: words.cron,
                cell: ({ cron, timezone }) => <code>{`${cron ?? '–'} ${timezone ?? ''}`}</code>,
              },
              { name: words.next, cell: ({ next_run: at }) => <Time at={at} isRelative /> },
              { name: words.last, cell: lastCell },
              {
                name: words.action,
                isUnnamed: true,
                cell: (schedule) => (may('run_write') ? <Actions of={schedule} act={act} /> : null),
              },
            ]}
          />
        )
      }
    </AskedView>
  );
}

function nameCell({ name, reason }: Schedule) {
  return (
    <>
      {name}
      {reason === null ? null : <span class="row-error">{reason}</span>}
    </>
  );
}

function lastCell({ last_run: last }: Schedule) {
  if (last === null) return <span class="muted">{T.operate.never}</span>;
  return (
    <>
      <Status of={last.status} />{' '}
      {last.run_id === null ? null : (
        <a href={linkTo(['runs', last.run_id])}>
          <Time at={last.tick} />
        </a>
      )}
    </>
  );
}

interface ActionsProps {
  readonly of: Schedule;
  readonly act: (what: (client: HeadgateClient) => Promise<unknown>) => void;
}

function Actions({ of: { name, state }, act }: ActionsProps) {
  const params = { params: { path: { name } } };
  return (
    <span class="buttons">
      {state === 'active' ? (
        <button
          type="button"
          onClick={() => act((client) => client.routes.POST('/v1/schedules/{name}/pause', params))}
        >
          {T.operate.pause}
        </button>
      ) : null}
      {state === 'paused' || state === 'ended' ? (
        <button
          type="button"
          onClick={() => act((client) => client.routes.POST('/v1/schedules/{name}/resume', params))}
        >
          {T.operate.resume}
        </button>
      ) : null}
      {state === 'invalid' ? null : (
        <button
          type="button"
          onClick={() => act((client) => client.routes.POST('/v1/schedules/{name}/run', params))}
        >
          {T.operate.runNow}
        </button>
      )}
    </span>
  );
}

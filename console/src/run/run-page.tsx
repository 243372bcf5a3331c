import { address, linkTo } from '../lib/address.ts';
import { count, duration } from '../lib/format.ts';
import { useStore } from '../lib/store.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { HeadgateError, type RunGetAnswer } from '../../../src/client/index.ts';
import { Failure } from '../parts/failure.tsx';
import { Icon } from '../parts/icons.tsx';
import { Empty, Loading, Tabs, Time, useNow } from '../parts/small.tsx';
import { Status } from '../parts/status.tsx';
import { isActive } from '../runs/run-feed.ts';
import { T } from '../texts.ts';
import { RunActions } from './actions.tsx';
import { sumOf } from './balance.ts';
import { Details } from './details.tsx';
import { NodeTable } from './node-table.tsx';
import { LogView } from './log-view.tsx';
import { Outputs } from './outputs.tsx';
import { RunLineage } from './run-lineage.tsx';
import { PlanView } from './plan-view.tsx';
import { Problems } from './problems.tsx';
import { Receipt } from './receipt.tsx';
import { Timeline } from './timeline.tsx';

const EVERY_MS = 1000;
const TABS = ['overview', 'log', 'plan', 'outputs', 'lineage', 'details'] as const;

export function RunPage({ id }: { readonly id: string }) {
  const { query } = useStore(address);
  const tab = TABS.find((name) => name === query.get('tab')) ?? 'overview';
  const { data: run, error, reload } = useRun(id);
  if (run === undefined) {
    if (error instanceof HeadgateError && error.status === 404)
      return (
        <Empty title={T.run.gone}>
          <p>{T.run.goneHint}</p>
          <a href={linkTo(['runs'])}>{T.toRuns}</a>
        </Empty>
      );
    return error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />;
  }
  const tabs = TABS.map((name) => ({
    id: name,
    name: T.run.tabs[name],
    link: linkTo(['runs', id], { tab: name === 'overview' ? undefined : name }),
  }));
  return (
    <section class="page run-page">
      <a class="back" href={linkTo(['runs'])}>
        <Icon name="back" /> {T.run.back}
      </a>
      <div class="title">
        <h1>{run.name ?? T.runs.unnamed}</h1>
        <Status of={run.status} />
        <RunActions run={run} onChanged={reload} />
      </div>
      <Summary run={run} />
      <Tabs tabs={tabs} open={tab} label={run.name ?? id} />
      {tab === 'overview' ? <Overview run={run} /> : null}
      {tab === 'log' ? <LogView runId={id} isActive={isActive(run)} /> : null}
      {tab === 'plan' ? <Plan run={run} /> : null}
      {tab === 'outputs' ? <Outputs run={run} /> : null}
      {tab === 'lineage' ? <RunLineage run={run} /> : null}
      {tab === 'details' ? <Details run={run} /> : null}
    </section>
  );
}

/** Asked again until it has ended, and its callback is no longer on its way. */
function useRun(id: string) {
  const first = useAsked(async (client) => client.run(id), { about: [id] });
  const isOver = first.data !== undefined && !isActive(first.data) && !isTelling(first.data);
  const live = useAsked(
    async (client): Promise<RunGetAnswer | undefined> =>
      isOver || first.data === undefined ? undefined : client.run(id),
    {
      about: [id, isOver, first.data === undefined],
      everyMs: isOver || first.data === undefined ? undefined : EVERY_MS,
    },
  );
  const data = live.data ?? first.data;
  const isDone = live.data !== undefined && !isActive(live.data);
  return { ...first, data, error: first.error ?? (isDone ? undefined : live.error) };
}

function isTelling({ callback_delivery: delivery }: RunGetAnswer): boolean {
  return delivery?.state === 'underway';
}

function Summary({ run }: { readonly run: RunGetAnswer }) {
  const now = useNow(1000);
  const took =
    run.status === 'running' && run.started_at !== null
      ? Math.max(0, (now - Date.parse(run.started_at)) / 1000)
      : run.elapsed_secs;
  return (
    <p class="summary">
      <code>{run.run_id}</code>
      <span>
        {T.run.submitted} <Time at={run.submitted_at} />
      </span>
      <span>
        {T.run.took} {duration(took)}
      </span>
      <span>
        <strong>{count(run.records_written)}</strong> {T.run.written.toLowerCase()}
      </span>
    </p>
  );
}

function Overview({ run }: { readonly run: RunGetAnswer }) {
  if (isActive(run))
    return (
      <div class="card" role="status">
        <p>{T.run.sofar(count(run.records_written))}</p>
        <p class="muted">{T.run.receiptWaiting}</p>
        {run.status === 'running' ? <div class="progress" /> : null}
      </div>
    );
  return (
    <>
      <Problems run={run} />
      {run.invocations.length === 0 ? (
        <Empty title={T.run.noInvocations} />
      ) : (
        <>
          <Receipt balance={sumOf(run.invocations)} />
          <Timeline
            invocations={run.invocations}
            startedAt={run.started_at}
            finishedAt={run.finished_at}
          />
          <NodeTable nodes={run.nodes} />
        </>
      )}
    </>
  );
}

function Plan({ run: { run_id: id, invocations, nodes } }: { readonly run: RunGetAnswer }) {
  const { data, error, reload } = useAsked(
    async (client, signal) =>
      answerOf(await client.routes.GET('/v1/runs/{id}/plan', { params: { path: { id } }, signal })),
    { about: [id] },
  );
  if (data === undefined)
    return error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />;
  return (
    <>
      {data.stood_in.length === 0 ? null : (
        <p class="notice">
          {T.run.plan.standIn} {data.stood_in.join(', ')}
        </p>
      )}
      <PlanView plan={data} invocations={invocations} nodes={nodes} />
    </>
  );
}

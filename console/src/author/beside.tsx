/** What stands beside the document: its plan, its first records, its parts as forms, its tables. */
import { lazy, Suspense } from 'preact/compat';
import { address, linkTo } from '../lib/address.ts';
import { useStore } from '../lib/store.ts';
import { Failure, IssueList, type Issue } from '../parts/failure.tsx';
import { Loading, Tabs } from '../parts/small.tsx';
import { PlanView } from '../run/plan-view.tsx';
import { T } from '../texts.ts';
import { StagePreview } from './stage-preview.tsx';
import type { Checked } from './use-checked.ts';

const ConnectorForm = lazy(async () => (await import('./form/connector-form.tsx')).ConnectorForm);

const TableList = lazy(async () => (await import('./form/table-list.tsx')).TableList);

const SIDES = ['plan', 'preview', 'form', 'tables'] as const;
export type Side = (typeof SIDES)[number];

export function useSide(): Side {
  const { query } = useStore(address);
  return SIDES.find((name) => name === query.get('side')) ?? 'plan';
}

interface BesideProps {
  readonly text: string;
  readonly checked: Checked;
  readonly onText: (text: string) => void;
  readonly onPick: (issue: Issue) => void;
}

export function Beside({ text, checked, onText, onPick }: BesideProps) {
  const { issues, error } = checked;
  const side = useSide();
  return (
    <>
      {error === undefined ? null : <Failure error={error} />}
      {issues.length === 0 ? null : <IssueList issues={issues} onPick={onPick} />}
      <Tabs
        label={T.author.beside}
        open={side}
        tabs={SIDES.map((id) => ({
          id,
          name: T.author.sides[id],
          link: linkTo(['author'], { side: id === 'plan' ? undefined : id }),
        }))}
      />
      {side === 'form' || side === 'tables' ? (
        <Suspense fallback={<Loading />}>
          {side === 'form' ? (
            <ConnectorForm text={text} issues={issues} onText={onText} />
          ) : (
            <TableList text={text} onText={onText} />
          )}
        </Suspense>
      ) : (
        <Planned text={text} checked={checked} side={side} />
      )}
    </>
  );
}

interface PlannedProps {
  readonly text: string;
  readonly checked: Checked;
  readonly side: Side;
}

/** Of the last text that could be planned. */
function Planned({ text, checked: { plan, planned, issues }, side }: PlannedProps) {
  if (plan === undefined || planned === undefined) return <p class="muted">{T.author.planEmpty}</p>;
  return (
    <div class={issues.length > 0 || planned !== text ? 'outdated' : ''}>
      {side === 'plan' ? <PlanView plan={plan} /> : <StagePreview text={planned} plan={plan} />}
    </div>
  );
}

import { useState } from 'preact/hooks';
import type { RunGetAnswer } from '../../../src/client/index.ts';
import { goTo, linkTo } from '../lib/address.ts';
import { ask, may } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { saveFile } from '../lib/save-file.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { messageOf } from '../parts/failure.tsx';
import { notify } from '../parts/small.tsx';
import { BulkDialog, type BulkAction } from '../runs/bulk.tsx';
import { isActive } from '../runs/run-feed.ts';
import { T } from '../texts.ts';
import { ReplayDialog } from './document-actions.tsx';
import { RollbackDialog } from './rollback.tsx';
import { VerifyDialog } from './verify.tsx';

type Action = BulkAction | 'rerun' | 'rollback' | 'verify' | 'replay';

interface RunActionsProps {
  readonly run: RunGetAnswer;
  readonly onChanged: () => void;
}

/** What may be done with this run, by whoever looks at it. */
export function RunActions({ run, onChanged }: RunActionsProps) {
  const [open, setOpen] = useState<Action>();
  const close = (): void => setOpen(undefined);
  const offered = offeredTo(run);
  return (
    <div class="actions">
      {isActive(run) ? null : <ReceiptButton id={run.run_id} />}
      {offered.map((action) => (
        <button key={action} type="button" onClick={() => setOpen(action)}>
          {T.run.actions[action]}
        </button>
      ))}
      {open === 'cancel' || open === 'delete' ? (
        <BulkDialog
          action={open}
          runs={[run]}
          onClose={(hasChanged) => {
            close();
            if (!hasChanged) return;
            if (open === 'delete') goTo(linkTo(['runs']));
            else onChanged();
          }}
        />
      ) : null}
      {open === 'rerun' ? <RerunDialog run={run} onClose={close} /> : null}
      {open === 'rollback' ? <RollbackDialog run={run} onClose={close} /> : null}
      {open === 'verify' ? <VerifyDialog onClose={close} /> : null}
      {open === 'replay' ? <ReplayDialog onClose={close} /> : null}
    </div>
  );
}

/** A link cannot carry the token, so the page is asked for, and saved as a file. */
function ReceiptButton({ id }: { readonly id: string }) {
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      const page = await ask(async (client) =>
        answerOf(
          await client.routes.GET('/v1/runs/{id}/receipt', {
            params: { path: { id } },
            parseAs: 'text',
          }),
        ),
      );
      saveFile(`headgate-${id}.html`, new Blob([page], { type: 'text/html' }));
    } catch (error) {
      notify(messageOf(error));
    }
    setBusy(false);
  };
  const { actions } = T.run;
  return (
    <button
      type="button"
      title={actions.receiptTitle}
      disabled={isBusy}
      onClick={() => void save()}
    >
      {actions.receipt}
    </button>
  );
}

function offeredTo(run: RunGetAnswer): readonly Action[] {
  if (isActive(run)) return may('run_write') ? ['cancel'] : [];
  const hasDeadLetters = run.invocations.some(({ balance }) => balance.dead_lettered > 0);
  return [
    ...(may('run_write') ? (['rerun', 'verify'] as const) : []),
    ...(may('dlq_manage') && hasDeadLetters ? (['replay'] as const) : []),
    ...(may('rollback') && run.invocations.length > 0 ? (['rollback'] as const) : []),
    ...(may('run_write') ? (['delete'] as const) : []),
  ];
}

function RerunDialog({
  run,
  onClose,
}: {
  readonly run: RunGetAnswer;
  readonly onClose: () => void;
}) {
  const [clock, setClock] = useState('same');
  const [from, setFrom] = useState<'' | 'bookmark' | 'start'>('');
  const { actions } = T.run;
  const act = async (): Promise<void> => {
    const { run_id: id } = await ask((client) =>
      client.rerun(run.run_id, { clock, ...(from === '' ? {} : { from }) }),
    );
    onClose();
    notify(`${actions.submitted} ${id}`);
    goTo(linkTo(['runs', id]));
  };
  return (
    <ActionDialog title={actions.rerunTitle} go={actions.rerunGo} act={act} onClose={onClose}>
      <p>{actions.rerunBody}</p>
      <label class="field">
        <span>{actions.rerunClock}</span>
        <select value={clock} onChange={({ currentTarget }) => setClock(currentTarget.value)}>
          <option value="same">{actions.rerunClockSame}</option>
          <option value="now">{actions.rerunClockNow}</option>
        </select>
      </label>
      <label class="field">
        <span>{actions.rerunFrom}</span>
        <select
          value={from}
          onChange={({ currentTarget }) => setFrom(currentTarget.value as typeof from)}
        >
          <option value="">{actions.rerunFromAs}</option>
          <option value="bookmark">{actions.rerunFromBookmark}</option>
          <option value="start">{actions.rerunFromStart}</option>
        </select>
      </label>
    </ActionDialog>
  );
}

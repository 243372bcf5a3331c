import { useState } from 'preact/hooks';
import type { RunGetAnswer, RunRollbackAnswer } from '../../../src/client/index.ts';
import { ask } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { Fact, Facts, Value } from '../parts/small.tsx';
import { T } from '../texts.ts';
import { nameOf } from './timeline.tsx';

interface RollbackProps {
  readonly run: RunGetAnswer;
  readonly onClose: () => void;
}

export function RollbackDialog({ run, onClose }: RollbackProps) {
  const [invocation, setInvocation] = useState(run.invocations[0]?.run_id ?? '');
  const [force, setForce] = useState(false);
  const [report, setReport] = useState<RunRollbackAnswer>();
  const { actions } = T.run;
  const rollBack = async (dryRun: boolean): Promise<void> =>
    setReport(
      await ask(async (client) =>
        answerOf(
          await client.routes.POST('/v1/runs/{id}/rollback', {
            params: { path: { id: run.run_id } },
            body: { invocation_id: invocation, dry_run: dryRun, force },
          }),
        ),
      ),
    );
  return (
    <ActionDialog
      title={actions.rollbackTitle}
      go={actions.rollbackGo}
      isDangerous
      act={() => rollBack(false)}
      tryFirst={{ name: actions.rollbackTry, act: () => rollBack(true) }}
      onClose={onClose}
    >
      <p>{actions.rollbackBody}</p>
      <label class="field">
        <span>{actions.rollbackWhich}</span>
        <select
          value={invocation}
          onChange={({ currentTarget }) => setInvocation(currentTarget.value)}
        >
          {run.invocations.map((one) => (
            <option key={one.run_id} value={one.run_id}>
              {nameOf(one)}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={force}
          onChange={({ currentTarget }) => setForce(currentTarget.checked)}
        />
        {actions.rollbackForce}
      </label>
      {report === undefined ? null : <Report of={report} />}
    </ActionDialog>
  );
}

function Report({ of }: { readonly of: RunRollbackAnswer }) {
  const { actions } = T.run;
  return (
    <section class="report" aria-label={actions.report} role="status">
      <p>
        <strong>
          {of.blocked ? actions.rollbackBlocked : of.applied ? actions.applied : actions.dryRun}
        </strong>
      </p>
      <AnyReport of={of} />
    </section>
  );
}

/** Whatever a report of the server says. */
export function AnyReport({ of }: { readonly of: object }) {
  return (
    <Facts>
      {Object.entries(of).map(([name, value]) => (
        <Fact key={name} name={name.replaceAll('_', ' ')}>
          <Value of={value} />
        </Fact>
      ))}
    </Facts>
  );
}

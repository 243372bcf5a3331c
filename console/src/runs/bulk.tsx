import { useState } from 'preact/hooks';
import { ask } from '../lib/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { notify } from '../parts/small.tsx';
import { T } from '../texts.ts';
import { isActive, type Run } from './run-feed.ts';

export type BulkAction = 'cancel' | 'delete';

/** Requests at the same time. */
const AT_ONCE = 4;

interface BulkProps {
  readonly action: BulkAction;
  readonly runs: readonly Run[];
  readonly onClose: (hasChanged: boolean) => void;
}

/** Says what it will do, to how many, and whom it leaves out. */
export function BulkDialog({ action, runs, onClose }: BulkProps) {
  const [isBusy, setBusy] = useState(false);
  const wanted = runs.filter((run) => isActive(run) === (action === 'cancel'));
  const leftOut = runs.length - wanted.length;
  const words =
    action === 'cancel'
      ? {
          title: T.runs.cancelTitle,
          body: T.runs.cancelBody,
          go: T.runs.cancelGo,
          why: T.runs.ended,
        }
      : {
          title: T.runs.deleteTitle,
          body: T.runs.deleteBody,
          go: T.runs.deleteGo,
          why: T.runs.notEnded,
        };
  const act = async (): Promise<void> => {
    setBusy(true);
    const refused = await actOnAll(action, wanted);
    notify(T.runs.done(wanted.length - refused, refused));
    onClose(true);
  };
  return (
    <Dialog title={words.title(wanted.length)} onClose={() => onClose(false)}>
      <p>{words.body}</p>
      {leftOut === 0 ? null : <p class="muted">{T.runs.leftOut(leftOut, words.why)}</p>}
      <div class="buttons">
        <button type="button" onClick={() => onClose(false)}>
          {T.common.cancel}
        </button>
        <button
          type="button"
          class={action === 'delete' ? 'danger' : 'primary'}
          disabled={isBusy || wanted.length === 0}
          onClick={() => void act()}
        >
          {words.go}
        </button>
      </div>
    </Dialog>
  );
}

async function actOnAll(action: BulkAction, runs: readonly Run[]): Promise<number> {
  const left = [...runs];
  let refused = 0;
  const work = async (): Promise<void> => {
    for (let run = left.pop(); run !== undefined; run = left.pop()) {
      const { run_id: id } = run;
      try {
        await ask(async (client) =>
          action === 'cancel'
            ? client.cancel(id)
            : client.routes.DELETE('/v1/runs/{id}', { params: { path: { id } } }),
        );
      } catch {
        refused += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return refused;
}

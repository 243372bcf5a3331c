/** Takes the dead letters of one cause out of their queue, once it was said which and where to. */
import { useState } from 'preact/hooks';
import type { DlqDiscardAnswer, DlqInspectAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { count } from '../lib/format.ts';
import { ask } from '../lib/session.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { T } from '../texts.ts';

interface DiscardDialogProps {
  readonly location: string;
  readonly cause: DlqInspectAnswer['causes'][number];
  readonly onClose: (hasChanged: boolean) => void;
}

export function DiscardDialog({ location, cause, onClose }: DiscardDialogProps) {
  const [deletes, setDeletes] = useState(false);
  const [done, setDone] = useState<DlqDiscardAnswer>();
  const { discard: words } = T.data;
  if (done !== undefined) return <Done of={done} onClose={() => onClose(true)} />;
  const discard = async (): Promise<void> => {
    const body = { location, cause: cause.id, delete: deletes };
    setDone(
      await ask(async (client) => answerOf(await client.routes.POST('/v1/dlq/discard', { body }))),
    );
  };
  return (
    <ActionDialog
      title={words.title(count(cause.letters))}
      go={deletes ? words.goDelete : words.go}
      isDangerous
      act={discard}
      onClose={() => onClose(false)}
    >
      <Facts>
        <Fact name={T.data.cause}>{cause.message ?? T.data.unknownCause}</Fact>
        <Fact name={T.data.location}>{location}</Fact>
      </Facts>
      <p>{deletes ? words.bodyDelete : words.body}</p>
      <p class="muted">{words.later}</p>
      <label class="check">
        <input
          type="checkbox"
          checked={deletes}
          onChange={({ currentTarget }) => setDeletes(currentTarget.checked)}
        />
        {words.delete}
      </label>
    </ActionDialog>
  );
}

function Done({ of, onClose }: { readonly of: DlqDiscardAnswer; readonly onClose: () => void }) {
  const { discard: words } = T.data;
  return (
    <Dialog title={words.done(count(of.discarded))} onClose={onClose}>
      <div role="status">
        {of.archived_to.length === 0 ? <p>{words.deleted}</p> : <p>{words.archived}</p>}
        <ul>
          {of.archived_to.map((file) => (
            <li key={file}>
              <code>{file}</code>
            </li>
          ))}
        </ul>
      </div>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          {T.common.cancel}
        </button>
      </div>
    </Dialog>
  );
}

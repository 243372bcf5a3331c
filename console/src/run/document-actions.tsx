/** What needs the document: the server stores it, and hands it to nobody. */
import { useState } from 'preact/hooks';
import { readDraft } from '../lib/draft.ts';
import { ask } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { T } from '../texts.ts';
import { AnyReport } from './rollback.tsx';

interface DocumentFieldProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

export function DocumentField({ value, onChange }: DocumentFieldProps) {
  return (
    <label class="field">
      <span>
        {T.run.actions.document} <span class="muted">{T.run.actions.documentHint}</span>
      </span>
      <textarea
        rows={10}
        required
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}

interface ReplayProps {
  readonly location?: string;
  /** Only those of this cause. */
  readonly cause?: string;
  /** Which and how many those are. */
  readonly told?: string;
  readonly onClose: () => void;
}

export function ReplayDialog({ location = '', cause, told, onClose }: ReplayProps) {
  const [config, setConfig] = useState(readDraft);
  const [from, setFrom] = useState(location);
  const [report, setReport] = useState<object>();
  const { actions } = T.run;
  const replay = async (dryRun: boolean): Promise<void> =>
    setReport(
      await ask(async (client) =>
        answerOf(
          await client.routes.POST('/v1/dlq/replay', {
            body: { config, from, dry_run: dryRun, ...(cause === undefined ? {} : { cause }) },
          }),
        ),
      ),
    );
  return (
    <ActionDialog
      title={actions.replayTitle}
      go={actions.replayGo}
      isWide
      act={() => replay(false)}
      tryFirst={{ name: actions.replayTry, act: () => replay(true) }}
      onClose={onClose}
    >
      <p>{actions.replayBody}</p>
      {told === undefined ? null : (
        <p>
          <strong>{told}</strong>
        </p>
      )}
      <label class="field">
        <span>{actions.replayFrom}</span>
        <input
          type="text"
          required
          value={from}
          onInput={({ currentTarget }) => setFrom(currentTarget.value.trim())}
        />
      </label>
      <DocumentField value={config} onChange={setConfig} />
      {report === undefined ? null : <Report of={report} />}
    </ActionDialog>
  );
}

function Report({ of }: { readonly of: object }) {
  return (
    <section class="report" aria-label={T.run.actions.report} role="status">
      <AnyReport of={of} />
    </section>
  );
}

/** One dead letter: why it is one, its record, and a replay of that record alone. */
import { useId, useState } from 'preact/hooks';
import type { DlqInspectAnswer, DlqReplayAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { readDraft } from '../lib/draft.ts';
import { fullTime } from '../lib/format.ts';
import { ask } from '../lib/session.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { DocumentField } from '../run/document-actions.tsx';
import { AnyReport } from '../run/rollback.tsx';
import { T } from '../texts.ts';

export type Letter = DlqInspectAnswer['sample'][number];

interface LetterDialogProps {
  readonly letter: Letter;
  readonly onClose: (hasChanged: boolean) => void;
}

interface Done {
  readonly told: string;
  readonly report: DlqReplayAnswer;
}

export function LetterDialog({ letter, onClose }: LetterDialogProps) {
  const stored = JSON.stringify(letter.payload, null, 2);
  const [text, setText] = useState(stored);
  const [config, setConfig] = useState(readDraft);
  const [row, setRow] = useState(letter.row ?? '');
  const [removes, setRemoves] = useState(true);
  const [done, setDone] = useState<Done>();
  const [hasChanged, setChanged] = useState(false);
  const record = recordOf(text);
  const { letter: words } = T.data;
  const replay = async (dryRun: boolean): Promise<void> => {
    if ('problem' in record) throw new Error(words.noJson(record.problem));
    const { id, file } = letter;
    const body = {
      config,
      from: file,
      letter: id,
      dry_run: dryRun,
      ...(row.trim() === '' ? {} : { row: row.trim() }),
      // Any JSON; the description of the API has no word for it.
      ...(text === stored ? {} : { payload: record.value as Record<string, unknown> }),
    };
    const report = await ask(async (client) =>
      answerOf(await client.routes.POST('/v1/dlq/replay', { body })),
    );
    const isWritten = report.records_written > 0;
    if (isWritten && removes) {
      setChanged(true);
      await ask((client) =>
        client.routes.POST('/v1/dlq/discard', { body: { location: file, letter: id } }),
      );
    }
    setDone({ report, told: toldOf(report, isWritten && removes) });
  };
  return (
    <ActionDialog
      title={words.title}
      go={words.go}
      isWide
      act={() => replay(false)}
      tryFirst={{ name: words.try, act: () => replay(true) }}
      onClose={() => onClose(hasChanged)}
    >
      <p>{words.body}</p>
      <Facts>
        <Fact name={T.run.error}>{letter.error_message ?? '–'}</Fact>
        <Fact name={T.data.reason}>{letter.reason ?? '–'}</Fact>
        <Fact name={words.when}>
          {letter.ts_ms === null ? '–' : fullTime(new Date(letter.ts_ms).toISOString())}
        </Fact>
        <Fact name={words.file}>{letter.file}</Fact>
      </Facts>
      <RecordField
        text={text}
        problem={'problem' in record ? words.noJson(record.problem) : undefined}
        isExact={isHeldExactly(letter.payload)}
        onChange={setText}
      />
      <DocumentField value={config} onChange={setConfig} />
      <label class="field">
        <span>{T.run.actions.row}</span>
        <input
          type="text"
          value={row}
          onInput={({ currentTarget }) => setRow(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={removes}
          onChange={({ currentTarget }) => setRemoves(currentTarget.checked)}
        />
        {words.remove}
      </label>
      {done === undefined ? null : (
        <section class="report" aria-label={T.run.actions.report} role="status">
          <p>
            <strong>{done.told}</strong>
          </p>
          <AnyReport of={done.report} />
        </section>
      )}
    </ActionDialog>
  );
}

function toldOf(report: DlqReplayAnswer, isRemoved: boolean): string {
  const { letter: words } = T.data;
  if ((report.passed_over?.other_rows ?? 0) > 0) return words.other;
  if (report.dry_run) return words.tried;
  if (report.records_written === 0) return words.notWritten;
  return isRemoved ? words.removed : words.written;
}

interface RecordFieldProps {
  readonly text: string;
  readonly problem: string | undefined;
  readonly isExact: boolean;
  readonly onChange: (text: string) => void;
}

function RecordField({ text, problem, isExact, onChange }: RecordFieldProps) {
  const id = useId();
  const { letter: words } = T.data;
  return (
    <div class="setting">
      <label for={id}>{words.record}</label>
      <textarea
        id={id}
        rows={8}
        spellcheck={false}
        readOnly={!isExact}
        aria-describedby={`${id}-wrong`}
        aria-invalid={problem !== undefined}
        value={text}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <p id={`${id}-wrong`} class="wrong">
        {isExact ? problem : words.inexact}
      </p>
    </div>
  );
}

function recordOf(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : '' };
  }
}

/** Integers of more digits than a number of a browser has come here changed. */
function isHeldExactly(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((inner) => isHeldExactly(inner));
}

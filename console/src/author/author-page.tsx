import { useEffect, useRef, useState } from 'preact/hooks';
import { goTo, linkTo } from '../lib/address.ts';
import { keepDraft, readDraft } from '../lib/draft.ts';
import { ask, may } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { Empty, notify } from '../parts/small.tsx';
import { AnyReport } from '../run/rollback.tsx';
import { T } from '../texts.ts';
import { Beside, useSide } from './beside.tsx';
import type { DocumentEditor } from './editor.ts';
import { STARTER } from './starter.ts';
import { useChecked, type Checked } from './use-checked.ts';

export function AuthorPage() {
  const [text, setText] = useState(readDraft);
  const editor = useRef<DocumentEditor | undefined>(undefined);
  const checked = useChecked(text);
  const [dialog, setDialog] = useState<'submit' | 'save' | 'doctor'>();
  const side = useSide();
  const isReady = checked.plan !== undefined && checked.issues.length === 0;
  const change = (next: string): void => {
    keepDraft(next);
    setText(next);
  };
  const submit = useRef<() => void>(() => {});
  submit.current = () => {
    if (isReady && may('run_write')) setDialog('submit');
  };
  useEffect(() => editor.current?.mark(checked.issues), [checked.issues]);
  const close = (): void => {
    setDialog(undefined);
    editor.current?.focus();
  };
  return (
    <section class="page author-page">
      <div class="title">
        <h1>{T.author.title}</h1>
        <Verdict checked={checked} isEmpty={text.trim() === ''} />
        <div class="actions">
          {may('doctor') ? (
            <button type="button" disabled={!isReady} onClick={() => setDialog('doctor')}>
              {T.author.doctor}
            </button>
          ) : null}
          {may('template_admin') ? (
            <button type="button" disabled={!isReady} onClick={() => setDialog('save')}>
              {T.author.save}
            </button>
          ) : null}
          {may('run_write') ? (
            <button
              type="button"
              class="primary"
              disabled={!isReady}
              onClick={() => setDialog('submit')}
            >
              {T.author.submit}
            </button>
          ) : null}
        </div>
      </div>
      <div class="author">
        <div class="editor-side">
          <EditorBox
            text={text}
            onReady={(opened) => {
              editor.current = opened;
              opened?.mark(checked.issues);
            }}
            onChange={change}
            onSubmit={() => submit.current()}
          />
          <p class="muted">{T.author.keeps}</p>
        </div>
        <aside class="plan-side" aria-label={T.author.plan}>
          {text.trim() === '' && side !== 'form' ? (
            <Empty title={T.author.planEmpty}>
              <button
                type="button"
                class="primary"
                onClick={() => {
                  editor.current?.replace(STARTER);
                  editor.current?.focus();
                }}
              >
                {T.author.starter}
              </button>{' '}
              <a class="button" href={linkTo(['author'], { side: 'form' })}>
                {T.author.startForm}
              </a>
            </Empty>
          ) : (
            <Beside
              text={text}
              checked={checked}
              onText={(next) => editor.current?.replace(next)}
              onPick={({ line = 1, column }) => editor.current?.goTo(line, column)}
            />
          )}
        </aside>
      </div>
      {dialog === 'submit' && checked.plan !== undefined ? (
        <SubmitDialog text={text} rows={checked.plan.rows.length} onClose={close} />
      ) : null}
      {dialog === 'save' ? (
        <SaveDialog text={text} name={checked.plan?.name ?? ''} onClose={close} />
      ) : null}
      {dialog === 'doctor' ? <DoctorDialog text={text} onClose={close} /> : null}
    </section>
  );
}

function Verdict({ checked, isEmpty }: { readonly checked: Checked; readonly isEmpty: boolean }) {
  const { isChecking, issues, error, plan } = checked;
  const text = !may('doctor')
    ? T.author.mayNot
    : isEmpty
      ? T.author.check
      : isChecking
        ? T.author.checking
        : issues.length > 0
          ? T.author.problems(issues.length)
          : error === undefined && plan !== undefined
            ? T.author.fine
            : '';
  const isFine = !isEmpty && !isChecking && issues.length === 0 && plan !== undefined;
  return (
    <p class={`verdict ${isFine ? 'fine' : issues.length > 0 ? 'problem' : 'muted'}`} role="status">
      {isFine ? <Icon name="completed" /> : issues.length > 0 ? <Icon name="warning" /> : null}{' '}
      {text}
    </p>
  );
}

interface EditorBoxProps {
  readonly text: string;
  readonly onReady: (editor: DocumentEditor | undefined) => void;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}

/** What is written here stays here: the editor is opened once. */
function EditorBox({ text, onReady, onChange, onSubmit }: EditorBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const latest = useRef({ onChange, onSubmit });
  latest.current = { onChange, onSubmit };
  useEffect(() => {
    let editor: DocumentEditor | undefined;
    let isGone = false;
    void import('./editor.ts').then(({ openEditor }) => {
      if (isGone || box.current === null) return;
      editor = openEditor({
        parent: box.current,
        text,
        label: T.author.label,
        onChange: (next) => latest.current.onChange(next),
        onSubmit: () => latest.current.onSubmit(),
      });
      setOpen(true);
      onReady(editor);
      editor.focus();
    });
    return () => {
      isGone = true;
      editor?.destroy();
      onReady(undefined);
    };
  }, []);
  return (
    <>
      {isOpen ? null : <p class="muted">{T.author.loadingEditor}</p>}
      <div ref={box} class="editor" />
    </>
  );
}

interface DialogProps {
  readonly text: string;
  readonly onClose: () => void;
}

function SubmitDialog({ text, rows, onClose }: DialogProps & { readonly rows: number }) {
  const [name, setName] = useState('');
  const [doctorFirst, setDoctorFirst] = useState(false);
  const act = async (): Promise<void> => {
    const { run_id: id } = await ask((client) =>
      client.submit({
        config: text,
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(doctorFirst ? { doctor_first: true } : {}),
      }),
    );
    onClose();
    goTo(linkTo(['runs', id]));
  };
  return (
    <ActionDialog title={T.author.submitTitle} go={T.author.submitGo} act={act} onClose={onClose}>
      <p>{T.author.submitBody(rows)}</p>
      <label class="field">
        <span>
          {T.author.name} <span class="muted">{T.author.nameHint}</span>
        </span>
        <input
          type="text"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={doctorFirst}
          onChange={({ currentTarget }) => setDoctorFirst(currentTarget.checked)}
        />
        {T.author.doctorFirst}
      </label>
    </ActionDialog>
  );
}

function SaveDialog({ text, name, onClose }: DialogProps & { readonly name: string }) {
  const [id, setId] = useState(name);
  const [launch, setLaunch] = useState(false);
  const act = async (): Promise<void> => {
    const { version } = await ask(async (client) =>
      answerOf(await client.routes.POST('/v1/templates', { body: { id, config: text, launch } })),
    );
    notify(T.author.saved(id, version));
    onClose();
  };
  return (
    <ActionDialog title={T.author.saveTitle} go={T.author.saveGo} act={act} onClose={onClose}>
      <p>{T.author.saveBody}</p>
      <label class="field">
        <span>{T.author.saveId}</span>
        <input
          type="text"
          required
          value={id}
          onInput={({ currentTarget }) => setId(currentTarget.value.trim())}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={launch}
          onChange={({ currentTarget }) => setLaunch(currentTarget.checked)}
        />
        {T.author.saveLaunch}
      </label>
    </ActionDialog>
  );
}

function DoctorDialog({ text, onClose }: DialogProps) {
  const [report, setReport] = useState<object>();
  const act = async (): Promise<void> =>
    setReport(
      await ask(async (client) =>
        answerOf(await client.routes.POST('/v1/doctor', { body: { config: text } })),
      ),
    );
  return (
    <ActionDialog title={T.author.doctorTitle} go={T.author.doctor} act={act} onClose={onClose}>
      {report === undefined ? null : (
        <>
          <p role="status">{T.author.doctorBody}</p>
          <AnyReport of={report} />
        </>
      )}
    </ActionDialog>
  );
}

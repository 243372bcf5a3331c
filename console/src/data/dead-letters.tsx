import { useState } from 'preact/hooks';
import type { DlqInspectAnswer } from '../../../src/client/index.ts';
import { address, setQuery } from '../lib/address.ts';
import { answerOf } from '../lib/answer.ts';
import { count } from '../lib/format.ts';
import { ask, may } from '../lib/session.ts';
import { useStore } from '../lib/store.ts';
import { Failure } from '../parts/failure.tsx';
import { Marked } from '../parts/marked.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { ReplayDialog } from '../run/document-actions.tsx';
import { T } from '../texts.ts';
import { DiscardDialog } from './discard-dialog.tsx';
import { LetterDialog, type Letter } from './letter-dialog.tsx';

const MOST = 50;
export type Cause = DlqInspectAnswer['causes'][number];

export function DeadLetters() {
  const { query } = useStore(address);
  const [location, setLocation] = useState(query.get('location') ?? '');
  const [found, setFound] = useState<DlqInspectAnswer>();
  const [cause, setCause] = useState<Cause>();
  const [error, setError] = useState<unknown>();
  const inspect = async (one?: Cause): Promise<void> => {
    setQuery({ location });
    setError(undefined);
    try {
      const body = { location, limit: MOST, ...(one === undefined ? {} : { cause: one.id }) };
      setFound(
        await ask(async (client) =>
          answerOf(await client.routes.POST('/v1/dlq/inspect', { body })),
        ),
      );
      setCause(one);
    } catch (failure) {
      setFound(undefined);
      setError(failure);
    }
  };
  const { data: words } = T;
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void inspect();
        }}
      >
        <input
          type="text"
          required
          aria-label={words.location}
          placeholder={words.location}
          value={location}
          onInput={({ currentTarget }) => setLocation(currentTarget.value)}
        />
        <button type="submit" class="primary">
          {words.inspect}
        </button>
      </form>
      <p class="muted">
        <Marked text={words.deadHint} />
      </p>
      {error === undefined ? null : <Failure error={error} />}
      {found === undefined ? null : (
        <Found of={found} cause={cause} onInspect={(one) => void inspect(one)} />
      )}
    </>
  );
}

interface FoundProps {
  readonly of: DlqInspectAnswer;
  /** Of which only these dead letters are shown. */
  readonly cause: Cause | undefined;
  readonly onInspect: (cause?: Cause) => void;
}

function Found({ of, cause, onInspect }: FoundProps) {
  const [replaying, setReplaying] = useState<Cause>();
  const [discarding, setDiscarding] = useState<Cause>();
  const { data: words } = T;
  return (
    <>
      <p role="status">
        <strong>{words.found(count(of.total_envelopes), count(of.files_read))}</strong>
      </p>
      {cause === undefined ? (
        <>
          <Counts of={of} />
          <h2>{words.causes}</h2>
          <Table
            label={words.causes}
            rows={of.causes}
            keyOf={({ id }) => id}
            columns={[
              { name: words.letters, isNumber: true, cell: ({ letters }) => count(letters) },
              { name: words.reason, cell: ({ reason }) => reason ?? '–' },
              { name: words.errorKind, cell: ({ error_kind: kind }) => kind ?? '–' },
              { name: words.cause, cell: ({ message }) => message ?? words.unknownCause },
              {
                name: T.operate.action,
                isUnnamed: true,
                cell: (one) => (
                  <span class="buttons">
                    <button type="button" onClick={() => onInspect(one)}>
                      {words.showCause}
                    </button>
                    {may('dlq_manage') ? (
                      <>
                        <button type="button" onClick={() => setReplaying(one)}>
                          {words.replayCause}
                        </button>
                        <button type="button" onClick={() => setDiscarding(one)}>
                          {words.discard.open}
                        </button>
                      </>
                    ) : null}
                  </span>
                ),
              },
            ]}
          />
        </>
      ) : (
        <p class="notice">
          {words.causeOf(cause.message ?? words.unknownCause)}{' '}
          <button type="button" onClick={() => onInspect()}>
            {words.allCauses}
          </button>
        </p>
      )}
      <Sample of={of.sample} onChanged={() => onInspect(cause)} />
      {discarding === undefined ? null : (
        <DiscardDialog
          location={of.location}
          cause={discarding}
          onClose={(hasChanged) => {
            setDiscarding(undefined);
            if (hasChanged) onInspect();
          }}
        />
      )}
      {replaying === undefined ? null : (
        <ReplayDialog
          location={of.location}
          cause={replaying.id}
          told={words.replayTold(count(replaying.letters), replaying.message ?? words.unknownCause)}
          onClose={() => {
            setReplaying(undefined);
            onInspect();
          }}
        />
      )}
    </>
  );
}

function Counts({ of }: { readonly of: DlqInspectAnswer }) {
  const { data: words } = T;
  const groups = [
    [words.byReason, of.by_reason],
    [words.byKind, of.by_error_kind],
  ] as const;
  return (
    <Facts>
      {groups.flatMap(([name, counts]) =>
        Object.entries(counts).map(([one, letters]) => (
          <Fact key={`${name} ${one}`} name={`${name}: ${one}`}>
            {count(letters)}
          </Fact>
        )),
      )}
    </Facts>
  );
}

interface SampleProps {
  readonly of: readonly Letter[];
  readonly onChanged: () => void;
}

function Sample({ of, onChanged }: SampleProps) {
  const [open, setOpen] = useState<Letter>();
  const { data: words } = T;
  return (
    <>
      <h2>{words.sample}</h2>
      <Table
        label={words.sample}
        rows={of.map((letter, index) => ({ ...letter, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { name: T.run.outputs.row, cell: ({ row }) => row ?? '–' },
          { name: words.reason, cell: ({ reason }) => reason ?? '–' },
          { name: T.run.error, cell: ({ error_message: message }) => message ?? '–' },
          { name: words.record, cell: ({ payload }) => <code>{JSON.stringify(payload)}</code> },
          {
            name: T.operate.action,
            isUnnamed: true,
            cell: (letter) =>
              may('dlq_manage') ? (
                <button type="button" onClick={() => setOpen(letter)}>
                  {words.letter.open}
                </button>
              ) : null,
          },
        ]}
      />
      {open === undefined ? null : (
        <LetterDialog
          letter={open}
          onClose={(hasChanged) => {
            setOpen(undefined);
            if (hasChanged) onChanged();
          }}
        />
      )}
    </>
  );
}

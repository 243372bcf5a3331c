import { useState } from 'preact/hooks';
import type { DlqInspectAnswer } from '../../../src/client/index.ts';
import { address, setQuery } from '../lib/address.ts';
import { count } from '../lib/format.ts';
import { ask } from '../lib/session.ts';
import { useStore } from '../lib/store.ts';
import { answerOf } from '../lib/answer.ts';
import { Failure } from '../parts/failure.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const MOST = 50;

export function DeadLetters() {
  const { query } = useStore(address);
  const [location, setLocation] = useState(query.get('location') ?? '');
  const [found, setFound] = useState<DlqInspectAnswer>();
  const [error, setError] = useState<unknown>();
  const inspect = async (): Promise<void> => {
    setQuery({ location });
    setError(undefined);
    try {
      const body = { location, limit: MOST };
      setFound(await ask(async (client) => answerOf(await client.routes.POST('/v1/dlq/inspect', { body }))));
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
      <p class="muted">{words.deadHint}</p>
      {error === undefined ? null : <Failure error={error} />}
      {found === undefined ? null : <Found of={found} />}
    </>
  );
}

function Found({ of }: { readonly of: DlqInspectAnswer }) {
  const { data: words } = T;
  return (
    <>
      <p role="status">
        <strong>{words.found(count(of.total_envelopes), count(of.files_read))}</strong>
      </p>
      <Facts>
        {Object.entries(of.by_reason).map(([reason, letters]) => (
          <Fact key={reason} name={`${words.byReason}: ${reason}`}>
            {count(letters)}
          </Fact>
        ))}
        {Object.entries(of.by_error_kind).map(([kind, letters]) => (
          <Fact key={kind} name={`${words.byKind}: ${kind}`}>
            {count(letters)}
          </Fact>
        ))}
      </Facts>
      <h2>{words.sample}</h2>
      <Table
        label={words.sample}
        rows={of.sample.map((letter, index) => ({ ...letter, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { name: T.run.outputs.row, cell: ({ row }) => row ?? '–' },
          { name: words.byReason, cell: ({ reason }) => reason ?? '–' },
          { name: T.run.error, cell: ({ error_message: message }) => message ?? '–' },
          { name: words.record, cell: ({ payload }) => <code>{JSON.stringify(payload)}</code> },
        ]}
      />
    </>
  );
}

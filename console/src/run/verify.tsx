import { useState } from 'preact/hooks';
import type { VerifyAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { readDraft } from '../lib/draft.ts';
import { count } from '../lib/format.ts';
import { ask } from '../lib/session.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { Fact, Facts } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';
import { DocumentField } from './document-actions.tsx';

type Difference = VerifyAnswer['differences'][number];

/** Compares first; what a repair would do is counted before it does anything. */
export function VerifyDialog({ onClose }: { readonly onClose: () => void }) {
  const [config, setConfig] = useState(readDraft);
  const [row, setRow] = useState('');
  const [allowDelete, setAllowDelete] = useState(false);
  const [report, setReport] = useState<VerifyAnswer>();
  const { actions, verify: words } = T.run;
  const verify = async (how: object): Promise<void> =>
    setReport(
      await ask(async (client) =>
        answerOf(
          await client.routes.POST('/v1/verify', {
            body: { config, ...(row === '' ? {} : { row }), ...how },
          }),
        ),
      ),
    );
  const differs = (report?.differences.length ?? 0) > 0;
  const repair = { repair: true, allow_delete: allowDelete };
  return (
    <ActionDialog
      title={actions.verifyTitle}
      go={differs ? words.repair : actions.verifyGo}
      isWide
      isDangerous={differs}
      act={() => verify(differs ? repair : {})}
      {...(differs
        ? { tryFirst: { name: words.tryRepair, act: () => verify({ ...repair, dry_run: true }) } }
        : {})}
      onClose={onClose}
    >
      <p>{actions.verifyBody}</p>
      <DocumentField
        value={config}
        onChange={(text) => {
          setConfig(text);
          setReport(undefined);
        }}
      />
      <label class="field">
        <span>{actions.row}</span>
        <input
          type="text"
          value={row}
          onInput={({ currentTarget }) => {
            setRow(currentTarget.value.trim());
            setReport(undefined);
          }}
        />
      </label>
      {report === undefined ? null : <Report of={report} />}
      {differs ? (
        <label class="check">
          <input
            type="checkbox"
            checked={allowDelete}
            onChange={({ currentTarget }) => setAllowDelete(currentTarget.checked)}
          />
          {words.allowDelete}
        </label>
      ) : null}
    </ActionDialog>
  );
}

function Report({ of }: { readonly of: VerifyAnswer }) {
  const { verify: words } = T.run;
  const { differences, repaired_upserts: upserts, repaired_deletes: deletes } = of;
  return (
    <section class="report" aria-label={T.run.actions.report}>
      <p role="status">
        <strong>
          {differences.length === 0
            ? words.equal
            : words.different(count(differences.length), of.truncated)}
        </strong>{' '}
        {upserts === undefined && deletes === undefined
          ? null
          : words.repaired(count(upserts ?? 0), count(deletes ?? 0), of.dry_run)}
      </p>
      {differences.length === 0 ? null : <Differences of={differences} />}
      <Facts>
        <Fact name={words.key}>{of.key.join(', ')}</Fact>
        <Fact name={words.strategy}>{of.strategy}</Fact>
        <Fact name={`${words.fetched} ${of.source}`}>{count(of.rows_fetched_source)}</Fact>
        <Fact name={`${words.fetched} ${of.destination}`}>{count(of.rows_fetched_dest)}</Fact>
        {of.held_back === undefined ? null : (
          <Fact name={words.heldBack}>{count(of.held_back)}</Fact>
        )}
      </Facts>
    </section>
  );
}

/** Each key once: what the source has of it, and what the destination has. */
function Differences({ of }: { readonly of: readonly Difference[] }) {
  const { verify: words } = T.run;
  return (
    <Table
      label={words.differences}
      rows={of.map((difference, index) => ({ ...difference, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        {
          name: words.key,
          cell: ({ key }) => (
            <code>
              {Object.entries(key)
                .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
                .join(', ')}
            </code>
          ),
        },
        { name: words.atSource, cell: (one) => sideOf(one, 'source') },
        { name: words.atDestination, cell: (one) => sideOf(one, 'destination') },
        {
          name: words.fields,
          cell: ({ columns = [] }) =>
            columns.length === 0 ? '–' : <code>{columns.join(', ')}</code>,
        },
      ]}
    />
  );
}

function sideOf(
  { kind, side, count: times = 0 }: Difference,
  asked: 'source' | 'destination',
): string {
  const { verify: words } = T.run;
  switch (kind) {
    case 'missing_in_dest':
      return asked === 'source' ? words.present : words.missing;
    case 'extra_in_dest':
      return asked === 'source' ? words.missing : words.present;
    case 'changed':
      return asked === 'source' ? words.present : words.changed;
    case 'duplicate':
      return side === asked ? words.times(count(times)) : words.present;
    default:
      return kind satisfies never;
  }
}

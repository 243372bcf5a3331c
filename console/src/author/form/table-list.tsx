/** The data sets that the source of the document has, of which rows of the matrix are made. */
import { useMemo, useState } from 'preact/hooks';
import type { DiscoverAnswer } from '../../../../src/client/index.ts';
import { answerOf } from '../../lib/answer.ts';
import { count } from '../../lib/format.ts';
import { ask, may } from '../../lib/session.ts';
import { Failure } from '../../parts/failure.tsx';
import { notify } from '../../parts/small.tsx';
import { Table } from '../../parts/table.tsx';
import { T } from '../../texts.ts';
import { isMapping, valueAt, valuesOf, withItems } from './edit-yaml.ts';

/** Drawn at the same time. */
const SHOWN = 300;
type DataSet = DiscoverAnswer['data_sets'][number];

interface TableListProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function TableList({ text, onText }: TableListProps) {
  const presets = useMemo(() => presetsOf(text), [text]);
  const [source, setSource] = useState('');
  const [found, setFound] = useState<DiscoverAnswer>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const preset = presets.includes(source) ? source : (presets[0] ?? '');
  const { tables: words } = T.author;
  if (!may('doctor')) return <p class="notice">{words.mayNot}</p>;
  const list = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    setFound(undefined);
    try {
      const body = { config: text, ...(preset === '' ? {} : { source: preset }) };
      setFound(
        await ask(async (client) => answerOf(await client.routes.POST('/v1/discover', { body }))),
      );
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <div class="connector-form">
      <p class="muted">{words.hint}</p>
      <div class="filters">
        {presets.length < 2 ? null : (
          <label class="check">
            {words.source}
            <select value={preset} onChange={({ currentTarget }) => setSource(currentTarget.value)}>
              {presets.map((name) => (
                <option key={name} value={name}>
                  {name === '' ? 'pipeline.source' : name}
                </option>
              ))}
            </select>
          </label>
        )}
        <button
          type="button"
          class="primary"
          disabled={isBusy || text.trim() === ''}
          onClick={() => void list()}
        >
          {words.ask}
        </button>
      </div>
      {isBusy ? (
        <p class="muted" role="status">
          {words.asking}
        </p>
      ) : null}
      {error === undefined ? null : <Failure error={error} />}
      {found === undefined ? null : (
        <Found
          of={found}
          onInsert={(chosen) => {
            const next = withItems(
              text,
              ['matrix'],
              chosen.map(({ row }) => row),
            );
            if (next === undefined) return setError(new Error(T.author.form.byHand));
            onText(next);
            notify(words.inserted(chosen.length));
            // The ids of those that are left must not be those of rows that there are now.
            setFound(undefined);
          }}
        />
      )}
    </div>
  );
}

/** The source of the pipeline, unless it has only presets, and those. */
function presetsOf(text: string): readonly string[] {
  const pipeline = valueAt(valuesOf(text), ['pipeline']);
  if (!isMapping(pipeline)) return [];
  const { source, sources } = pipeline;
  return [...(source === undefined ? [] : ['']), ...Object.keys(isMapping(sources) ? sources : {})];
}

interface FoundProps {
  readonly of: DiscoverAnswer;
  readonly onInsert: (chosen: readonly DataSet[]) => void;
}

function Found({ of: { source, data_sets: all, total }, onInsert }: FoundProps) {
  const [wanted, setWanted] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shown = all.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  const { tables: words } = T.author;
  return (
    <>
      <p role="status">
        <strong>{words.found(count(shown.length), count(total), source)}</strong>{' '}
        {total > all.length ? words.notAll(count(all.length)) : ''}
      </p>
      <div class="filters">
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filter}
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value.trim())}
        />
        <button
          type="button"
          disabled={shown.length === 0}
          onClick={() => setChosen(new Set([...chosen, ...shown.map(({ name }) => name)]))}
        >
          {words.chooseAll(count(shown.length))}
        </button>
        <button type="button" disabled={chosen.size === 0} onClick={() => setChosen(new Set())}>
          {words.chooseNone}
        </button>
        <button
          type="button"
          class="primary"
          disabled={chosen.size === 0}
          onClick={() => onInsert(all.filter(({ name }) => chosen.has(name)))}
        >
          {words.insert(chosen.size)}
        </button>
      </div>
      {shown.length > SHOWN ? <p class="muted">{words.tooMany(count(SHOWN))}</p> : null}
      <Table
        label={T.author.sides.tables}
        rows={shown.slice(0, SHOWN)}
        keyOf={({ name }) => name}
        columns={[
          {
            name: words.chosen,
            isUnnamed: true,
            cell: ({ name }) => (
              <input
                type="checkbox"
                aria-label={words.choose(name)}
                checked={chosen.has(name)}
                onChange={() => toggle(name)}
              />
            ),
          },
          { name: words.name, cell: ({ name }) => <code>{name}</code> },
          { name: words.kind, cell: ({ kind }) => kind },
          {
            name: words.rows,
            isNumber: true,
            cell: ({ estimated_rows: rows }) => (rows === null ? '' : count(rows)),
          },
          {
            name: words.columns,
            isNumber: true,
            cell: ({ columns }) =>
              columns === null ? '' : <span title={columns.join(', ')}>{columns.length}</span>,
          },
        ]}
      />
    </>
  );
}

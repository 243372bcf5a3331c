import { useEffect, useMemo, useState } from 'preact/hooks';
import { address, setQuery } from '../lib/address.ts';
import { clockTime, count } from '../lib/format.ts';
import { useKeys } from '../lib/keys.ts';
import { saveFile } from '../lib/save-file.ts';
import { useStore } from '../lib/store.ts';
import { Failure } from '../parts/failure.tsx';
import { Empty, Loading } from '../parts/small.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { T } from '../texts.ts';
import { LEVELS, LogStore, type LevelFilter, type LogLine } from './log-store.ts';
import { newLogState, readLog } from './read-log.ts';

const ROW = 20;

interface LogViewProps {
  readonly runId: string;
  readonly isActive: boolean;
}

export function LogView({ runId, isActive }: LogViewProps) {
  const store = useMemo(() => new LogStore(), [runId]);
  const state = useMemo(newLogState, [runId]);
  const { phase, isTruncated, isBehind, error } = useStore(state);
  useStore(store.version);
  const [follows, setFollows] = useState(isActive);
  const { query } = useStore(address);
  const text = query.get('search') ?? '';
  const level = LEVELS.find((name) => name === query.get('level')) ?? 'all';
  useEffect(() => {
    const stop = new AbortController();
    void readLog({ runId, store, state, signal: stop.signal }, isActive);
    return () => stop.abort();
  }, [runId]);
  useEffect(() => store.filter({ text, level }), [store, text, level]);
  useKeys({ '/': () => document.getElementById('log-search')?.focus() });
  const { log } = T.run;
  return (
    <div class="log-view">
      <div class="log-tools">
        <input
          id="log-search"
          type="search"
          aria-label={log.search}
          placeholder={log.search}
          value={text}
          onInput={({ currentTarget }) => setQuery({ search: currentTarget.value })}
        />
        <select
          aria-label={log.level}
          value={level}
          onChange={({ currentTarget }) =>
            setQuery({ level: currentTarget.value === 'all' ? undefined : currentTarget.value })
          }
        >
          {LEVELS.map((name: LevelFilter) => (
            <option key={name} value={name}>
              {log.levels[name]}
            </option>
          ))}
        </select>
        <label class="check">
          <input
            type="checkbox"
            checked={follows}
            onChange={({ currentTarget }) => setFollows(currentTarget.checked)}
          />
          {log.follow}
        </label>
        <button type="button" disabled={store.length === 0} onClick={() => save(runId, store)}>
          {log.download}
        </button>
        <span class="muted" role="status">
          {log.lines(count(store.count), count(store.length))}
          {phase === 'ended' ? '' : ` · ${phase === 'live' ? log.live : log.loading}`}
        </span>
      </div>
      {isTruncated ? <p class="notice">{log.truncated}</p> : null}
      {isBehind ? <p class="notice">{log.behind}</p> : null}
      {error === undefined ? null : <Failure error={error} />}
      {store.count === 0 ? (
        <NoLines phase={phase} isFiltered={store.length > 0} isActive={isActive} />
      ) : (
        <VirtualList
          class="log"
          role="list"
          label={log.label}
          count={store.count}
          rowHeight={ROW}
          follows={follows}
          onScrolled={(isAtEnd) => {
            if (follows && !isAtEnd && phase !== 'loading') setFollows(false);
          }}
        >
          {(index) => {
            const line = store.at(index);
            return line === undefined ? null : <Line of={line} search={text} />;
          }}
        </VirtualList>
      )}
    </div>
  );
}

interface NoLinesProps {
  readonly phase: string;
  readonly isFiltered: boolean;
  readonly isActive: boolean;
}

function NoLines({ phase, isFiltered, isActive }: NoLinesProps) {
  const { log } = T.run;
  if (isFiltered) return <Empty title={log.noMatch} />;
  if (phase === 'loading') return <Loading />;
  if (isActive && phase === 'live') return <Empty title={log.empty} />;
  return <Empty title={log.emptyEnded}>{log.emptyEndedHint}</Empty>;
}

function Line({ of, search }: { readonly of: LogLine; readonly search: string }) {
  return (
    <div class={`log-line level-${of.level.toLowerCase()}`} role="listitem">
      <span class="seq">{of.seq}</span>
      <span class="ts">{of.ts === undefined ? '' : clockTime(of.ts)}</span>
      <span class="text">{marked(of.line, search)}</span>
    </div>
  );
}

function marked(line: string, search: string) {
  if (search === '') return line;
  const at = line.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return line;
  return (
    <>
      {line.slice(0, at)}
      <mark>{line.slice(at, at + search.length)}</mark>
      {line.slice(at + search.length)}
    </>
  );
}

function save(runId: string, store: LogStore): void {
  const texts = Array.from(
    store.all(),
    ({ ts, line }) => `${ts === undefined ? '' : `${ts} `}${line}\n`,
  );
  saveFile(`${runId}.log`, new Blob(texts, { type: 'text/plain' }));
}

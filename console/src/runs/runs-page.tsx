import { flushSync, memo } from 'preact/compat';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { goTo, linkTo } from '../lib/address.ts';
import { count, duration } from '../lib/format.ts';
import { useKeys } from '../lib/keys.ts';
import { may } from '../lib/session.ts';
import { Failure } from '../parts/failure.tsx';
import { Empty, Loading, Time, useNarrow, useNow } from '../parts/small.tsx';
import { Status } from '../parts/status.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { T } from '../texts.ts';
import { BulkDialog, type BulkAction } from './bulk.tsx';
import { clearFilter, Filters, hasFilter, useFilter } from './filters.tsx';
import { LastHour } from './last-hour.tsx';
import { PAGE, type Run, type RunFilter } from './run-feed.ts';
import { useRuns } from './use-runs.ts';

export function RunsPage() {
  const filter = useFilter();
  const { list, error, readMore, reload } = useRuns(filter);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [bulk, setBulk] = useState<BulkAction>();
  const runs = list?.runs ?? [];
  const chosen = runs.filter(({ run_id: id }) => selected.has(id));
  const names = useMemo(
    () => [...new Set(runs.flatMap(({ name }) => (name === null ? [] : [name])))].slice(0, 100),
    [runs],
  );
  const start = (action: BulkAction): void => {
    if (chosen.length > 0 && may('run_write')) setBulk(action);
  };
  useKeys({
    '/': () => document.getElementById('runs-search')?.focus(),
    a: () => setSelected(new Set(runs.map(({ run_id: id }) => id))),
    c: () => start('cancel'),
    Delete: () => start('delete'),
    Escape: () => setSelected(new Set()),
  });
  return (
    <section class="page runs-page">
      <div class="title">
        <h1>{T.runs.title}</h1>
        <LastHour />
      </div>
      <Filters filter={filter} names={names} />
      <div class="selection" role="status">
        {list === undefined ? null : (
          <span class="muted">{T.runs.loaded(count(runs.length), list.cursor === null)}</span>
        )}
        {chosen.length === 0 ? null : (
          <>
            <strong>{T.runs.selected(chosen.length)}</strong>
            {may('run_write') ? (
              <>
                <button type="button" onClick={() => start('cancel')}>
                  {T.runs.cancel}
                </button>
                <button type="button" onClick={() => start('delete')}>
                  {T.runs.delete}
                </button>
              </>
            ) : null}
            <button type="button" class="quiet" onClick={() => setSelected(new Set())}>
              {T.runs.unselect}
            </button>
          </>
        )}
      </div>
      {error === undefined ? null : <Failure error={error} onRetry={reload} />}
      {list === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : runs.length === 0 ? (
        <NoRuns filter={filter} />
      ) : (
        <RunGrid runs={runs} selected={selected} onSelect={setSelected} onMore={readMore} />
      )}
      {bulk === undefined ? null : (
        <BulkDialog
          action={bulk}
          runs={chosen}
          onClose={(hasChanged) => {
            setBulk(undefined);
            if (!hasChanged) return;
            setSelected(new Set());
            reload();
          }}
        />
      )}
    </section>
  );
}

function NoRuns({ filter }: { readonly filter: RunFilter }) {
  if (hasFilter(filter))
    return (
      <Empty title={T.runs.noMatch}>
        <p>{T.runs.noMatchHint}</p>
        <button type="button" onClick={clearFilter}>
          {T.runs.clear}
        </button>
      </Empty>
    );
  return (
    <Empty title={T.runs.empty}>
      <p>
        {T.runs.emptyHint} <code>headgate submit orders.yaml</code>
      </p>
      <a class="button primary" href={linkTo(['author'])}>
        {T.runs.emptyAction}
      </a>
    </Empty>
  );
}

interface GridProps {
  readonly runs: readonly Run[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (change: (before: ReadonlySet<string>) => ReadonlySet<string>) => void;
  readonly onMore: () => void;
}

const [ROW, NARROW_ROW] = [36, 60];

/** One row has the focus, and the arrows move it; the focus follows its run when others come. */
function RunGrid({ runs, selected, onSelect, onMore }: GridProps) {
  const isNarrow = useNarrow();
  const now = useNow(1000);
  const [current, setCurrent] = useState<string>();
  const grid = useRef<HTMLDivElement>(null);
  const takesFocus = useRef(false);
  // Keys come faster than the page is drawn, so they go by this and not by what is drawn.
  const latest = useRef({ current, runs });
  latest.current = { current, runs };
  const found = runs.findIndex(({ run_id: id }) => id === current);
  const at = Math.max(0, found);
  const focusOn = (id: string | undefined): void => {
    latest.current = { ...latest.current, current: id };
    setCurrent(id);
  };
  // The same for every row, so that no row is drawn again for it.
  const focusOnRow = useCallback(focusOn, []);
  const placeOfCurrent = (): number =>
    latest.current.runs.findIndex(({ run_id: id }) => id === latest.current.current);
  const move = (to: number): void => {
    takesFocus.current = true;
    // The next key is for that row.
    flushSync(() => focusOn(runs[Math.max(0, Math.min(runs.length - 1, to))]?.run_id));
  };
  const toggleRow = useCallback(
    (id: string): void =>
      onSelect((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const mark = (): void => {
    const run = runs[Math.max(0, placeOfCurrent())];
    if (run !== undefined) toggleRow(run.run_id);
  };
  const open = (): void => {
    const run = runs[placeOfCurrent()];
    if (run !== undefined) goTo(linkTo(['runs', run.run_id]));
  };
  useLayoutEffect(() => {
    if (!takesFocus.current) return;
    const row = grid.current?.querySelector<HTMLElement>('[role="row"][tabindex="0"]');
    // One that is far away is drawn when the list has been scrolled to it.
    if (row === null || row === undefined) return;
    takesFocus.current = false;
    row.focus();
  });
  const step = (by: number) => () => {
    const place = placeOfCurrent();
    move(place < 0 ? 0 : place + by);
  };
  useKeys({
    j: step(1),
    k: step(-1),
    ArrowDown: step(1),
    ArrowUp: step(-1),
    PageDown: step(20),
    PageUp: step(-20),
    Home: () => move(0),
    End: () => move(runs.length - 1),
    x: mark,
    ' ': mark,
    Enter: open,
  });
  const { columns } = T.runs;
  return (
    <div
      ref={grid}
      class="grid"
      role="grid"
      aria-label={T.runs.title}
      aria-rowcount={runs.length + 1}
      aria-multiselectable="true"
    >
      <div class="grid-head" role="rowgroup">
        <div role="row" aria-rowindex={1} class="run-row">
          <span role="columnheader" class="select">
            <span class="hidden">{columns.select}</span>
          </span>
          <span role="columnheader">{columns.status}</span>
          <span role="columnheader">{columns.name}</span>
          <span role="columnheader" class="number">
            {columns.written}
          </span>
          <span role="columnheader">{columns.started}</span>
          <span role="columnheader" class="number">
            {columns.took}
          </span>
          <span role="columnheader" class="id">
            {columns.run}
          </span>
        </div>
      </div>
      <VirtualList
        class="grid-body"
        role="rowgroup"
        count={runs.length}
        rowHeight={isNarrow ? NARROW_ROW : ROW}
        reveal={found < 0 ? undefined : found}
        onSeen={(last) => {
          if (last > runs.length - PAGE / 2) onMore();
        }}
      >
        {(index) => {
          const run = runs[index];
          return run === undefined ? null : (
            <RunRow
              run={run}
              index={index}
              // Only the time of a run that is executing goes on.
              now={run.status === 'running' ? now : 0}
              isCurrent={index === at}
              isSelected={selected.has(run.run_id)}
              onFocus={focusOnRow}
              onToggle={toggleRow}
            />
          );
        }}
      </VirtualList>
    </div>
  );
}

interface RowProps {
  readonly run: Run;
  readonly index: number;
  readonly now: number;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly onFocus: (id: string) => void;
  readonly onToggle: (id: string) => void;
}

/** Drawn again only when something of it has changed: a screen of them is scrolled at once. */
const RunRow = memo(({ run, index, now, isCurrent, isSelected, onFocus, onToggle }: RowProps) => {
  const { run_id: id, name, status } = run;
  const took =
    status === 'running' && run.started_at !== null
      ? (now - Date.parse(run.started_at)) / 1000
      : run.elapsed_secs;
  return (
    <div
      class="run-row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isCurrent ? 0 : -1}
      data-run={id}
      onFocusIn={() => onFocus(id)}
      onDblClick={() => goTo(linkTo(['runs', id]))}
    >
      <span role="gridcell" class="select">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isSelected}
          aria-label={`${T.runs.columns.select}: ${name ?? id}`}
          onChange={() => onToggle(id)}
        />
      </span>
      <span role="gridcell">
        <Status of={status} />
      </span>
      <span role="gridcell" class="name">
        <a href={linkTo(['runs', id])} tabIndex={-1}>
          {name ?? <span class="muted">{T.runs.unnamed}</span>}
        </a>
        {run.error === null ? null : (
          <span class="row-error" title={run.error}>
            {run.error}
          </span>
        )}
      </span>
      <span role="gridcell" class="number">
        {count(run.records_written)}
      </span>
      <span role="gridcell">
        <Time at={run.submitted_at} />
      </span>
      <span role="gridcell" class="number">
        {duration(took === null ? null : Math.max(0, took))}
      </span>
      <span role="gridcell" class="id">
        <code>{id}</code>
      </span>
    </div>
  );
});

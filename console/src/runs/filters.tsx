import { address, setQuery } from '../lib/address.ts';
import { useStore } from '../lib/store.ts';
import { Status } from '../parts/status.tsx';
import { T } from '../texts.ts';
import type { RunFilter, RunStatus } from './run-feed.ts';

const STATUSES: readonly RunStatus[] = ['queued', 'running', 'completed', 'failed', 'cancelled'];

/** From the address, whoever wrote it. */
export function useFilter(): RunFilter {
  const { query } = useStore(address);
  const named = (query.get('status') ?? '').split(',');
  return {
    status: STATUSES.filter((status) => named.includes(status)),
    name: query.get('name') ?? '',
    since: query.get('since') ?? '',
  };
}

export function hasFilter({ status, name, since }: RunFilter): boolean {
  return status.length > 0 || name !== '' || since !== '';
}

export function clearFilter(): void {
  setQuery({ status: undefined, name: undefined, since: undefined });
}

interface FiltersProps {
  readonly filter: RunFilter;
  /** Suggestions. */
  readonly names: readonly string[];
}

export function Filters({ filter, names }: FiltersProps) {
  const toggle = (status: RunStatus): void => {
    const chosen = STATUSES.filter((one) => filter.status.includes(one) !== (one === status));
    setQuery({ status: chosen.join(',') });
  };
  return (
    <form
      class="filters"
      role="search"
      aria-label={T.runs.filters}
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="chips" role="group" aria-label={T.runs.columns.status}>
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={filter.status.includes(status)}
            onClick={() => toggle(status)}
          >
            <Status of={status} />
          </button>
        ))}
      </div>
      <input
        id="runs-search"
        type="search"
        list="run-names"
        aria-label={T.runs.name}
        placeholder={T.runs.name}
        value={filter.name}
        onChange={({ currentTarget }) => setQuery({ name: currentTarget.value.trim() })}
      />
      <datalist id="run-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <select
        aria-label={T.runs.since}
        value={filter.since}
        onChange={({ currentTarget }) => setQuery({ since: currentTarget.value })}
      >
        <option value="">{T.runs.sinceAny}</option>
        {Object.entries(T.runs.sinces).map(([since, name]) => (
          <option key={since} value={since}>
            {name}
          </option>
        ))}
      </select>
      {hasFilter(filter) ? (
        <button type="button" class="quiet" onClick={clearFilter}>
          {T.runs.clear}
        </button>
      ) : null}
    </form>
  );
}

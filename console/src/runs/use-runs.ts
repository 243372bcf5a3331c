import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../lib/session.ts';
import { keepAsking } from '../lib/use-asked.ts';
import {
  OLDER_PAGE,
  queryOf,
  readRuns,
  refreshOlder,
  withNewest,
  withOlder,
  type RunFilter,
  type RunList,
} from './run-feed.ts';

const EVERY_MS = 2000;

export interface RunFeed {
  readonly list: RunList | undefined;
  readonly error: unknown;
  /** Reads the next page, unless there is none, or it is being read. */
  readonly readMore: () => void;
  readonly reload: () => void;
}

export function useRuns(filter: RunFilter): RunFeed {
  const [list, setList] = useState<RunList>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  const latest = useRef<RunList | undefined>(undefined);
  const isReading = useRef(false);
  const subject = JSON.stringify(filter);
  const show = (next: RunList | undefined): void => {
    latest.current = next;
    setList(next);
  };
  useEffect(() => show(undefined), [subject]);
  useEffect(() => {
    const stop = new AbortController();
    const look = async (): Promise<RunList> =>
      ask(async (client) => {
        const page = await readRuns(client, queryOf(filter), stop.signal);
        return refreshOlder(client, withNewest(latest.current, page), stop.signal);
      }, stop.signal);
    void keepAsking(look, {
      everyMs: EVERY_MS,
      signal: stop.signal,
      onAnswer: (next) => {
        // A page that was read meanwhile is not forgotten.
        const grown = (latest.current?.runs.length ?? 0) > next.runs.length;
        show(grown && latest.current !== undefined ? withNewest(latest.current, next) : next);
        setError(undefined);
      },
      onError: setError,
    });
    return () => stop.abort();
  }, [subject, round]);
  const readMore = (): void => {
    const cursor = latest.current?.cursor;
    if (isReading.current || cursor === null || cursor === undefined) return;
    isReading.current = true;
    const signal = new AbortController().signal;
    ask(
      (client) => readRuns(client, { ...queryOf(filter), cursor, limit: OLDER_PAGE }, signal),
      signal,
    )
      .then((page) => {
        if (latest.current?.cursor === cursor) show(withOlder(latest.current, page));
      })
      .catch(setError)
      .finally(() => {
        isReading.current = false;
      });
  };
  return { list, error, readMore, reload: () => setRound((count) => count + 1) };
}

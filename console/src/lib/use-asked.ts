import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { HeadgateClient } from '../../../src/client/index.ts';
import { ask, connected } from './session.ts';

export interface Asked<T> {
  /** The last answer; stays while another one is waited for. */
  readonly data: T | undefined;
  /** Why there is none that is newer. */
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

type Question<T> = (client: HeadgateClient, signal: AbortSignal) => Promise<T>;

/**
 * What the server answers, asked again `everyMs` after each answer while the page is seen, and as
 * soon as a server that was away is back. What `about` says starts anew when it changes.
 */
export function useAsked<T>(
  question: Question<T>,
  { everyMs, about = [] }: { everyMs?: number | undefined; about?: readonly unknown[] } = {},
): Asked<T> {
  const [state, setState] = useState<Omit<Asked<T>, 'reload'>>(NOTHING);
  const [round, setRound] = useState(0);
  const latest = useRef(question);
  latest.current = question;
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const subject = JSON.stringify(about);
  const subjectBefore = useRef(subject);
  useEffect(() => {
    if (subjectBefore.current !== subject) setState(NOTHING);
    subjectBefore.current = subject;
    const stop = new AbortController();
    void keepAsking(() => ask((client) => latest.current(client, stop.signal), stop.signal), {
      everyMs,
      signal: stop.signal,
      onAnswer: (data) => setState({ data, error: undefined, isLoading: false }),
      onError: (error) => setState(({ data }) => ({ data, error, isLoading: false })),
    });
    return () => stop.abort();
  }, [subject, everyMs, round]);
  return { ...state, reload };
}

const NOTHING = { data: undefined, error: undefined, isLoading: true } as const;

interface Asking<T> {
  readonly everyMs: number | undefined;
  readonly signal: AbortSignal;
  readonly onAnswer: (data: T) => void;
  readonly onError: (error: unknown) => void;
}

export async function keepAsking<T>(
  once: () => Promise<T>,
  { everyMs, signal, onAnswer, onError }: Asking<T>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const data = await once();
      if (signal.aborted) return;
      onAnswer(data);
      if (everyMs === undefined) return;
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      if (everyMs === undefined && connected.get()) return;
    }
    await Promise.race([whenSeen(everyMs ?? 1000, signal), aborted(signal)]);
  }
}

/** After this time, and not before the page is looked at and the server answers. */
async function whenSeen(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  while (!signal.aborted && (document.hidden || !connected.get())) {
    await new Promise<void>((resolve) => {
      document.addEventListener('visibilitychange', () => resolve(), { once: true, signal });
      const stop = connected.subscribe(() => {
        stop();
        resolve();
      });
    });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}

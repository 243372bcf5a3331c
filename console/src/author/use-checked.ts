/** What the server says of a text while it is written. */
import { useEffect, useState } from 'preact/hooks';
import type { PlanAnswer } from '../../../src/client/index.ts';
import { answerOf } from '../lib/answer.ts';
import { ask, may, pause, session } from '../lib/session.ts';
import { useStore } from '../lib/store.ts';
import { issuesOf, type Issue } from '../parts/failure.tsx';

/** Silence after which a text that changed is checked. */
const SILENCE_MS = 350;

export interface Checked {
  readonly isChecking: boolean;
  readonly plan?: PlanAnswer;
  /** The text of that plan. */
  readonly planned?: string;
  /** Of the last text that could be planned, while this one cannot. */
  readonly issues: readonly Issue[];
  readonly error?: unknown;
}

const UNCHECKED: Checked = { isChecking: false, issues: [] };

export function useChecked(text: string): Checked {
  const [checked, setChecked] = useState<Checked>(UNCHECKED);
  const { state } = useStore(session);
  const mayCheck = may('doctor');
  useEffect(() => {
    if (text.trim() === '' || !mayCheck) {
      setChecked(UNCHECKED);
      return undefined;
    }
    const stop = new AbortController();
    setChecked((before) => ({ ...before, isChecking: true }));
    const check = async (): Promise<void> => {
      await pause(SILENCE_MS);
      if (stop.signal.aborted) return;
      try {
        const plan = await ask(
          async (client) =>
            answerOf(
              await client.routes.POST('/v1/plan', { body: { config: text }, signal: stop.signal }),
            ),
          stop.signal,
        );
        setChecked({ isChecking: false, plan, planned: text, issues: [] });
      } catch (error) {
        if (stop.signal.aborted) return;
        const issues = issuesOf(error);
        setChecked(({ plan, planned }) => ({
          isChecking: false,
          ...(plan === undefined || planned === undefined ? {} : { plan, planned }),
          issues,
          ...(issues.length === 0 ? { error } : {}),
        }));
      }
    };
    void check();
    return () => stop.abort();
  }, [text, mayCheck, state]);
  return checked;
}

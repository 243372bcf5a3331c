import type { RunGetAnswer } from '../../../src/client/index.ts';
import { count } from '../lib/format.ts';
import { Icon } from '../parts/icons.tsx';
import { T } from '../texts.ts';
import { nameOf } from './timeline.tsx';

const SHOWN = 50;

/** Why a run failed: as a whole, and in each of its invocations, with the place in the document. */
export function Problems({ run }: { readonly run: RunGetAnswer }) {
  const failed = run.invocations.filter(({ error }) => error !== null);
  if (run.error === null && failed.length === 0) return null;
  return (
    <section class="card problems" aria-labelledby="problems-title">
      <h2 id="problems-title">
        <Icon name="warning" /> {T.run.error}
      </h2>
      {run.error === null ? null : <p class="message">{run.error}</p>}
      {failed.length < 2 ? null : <p class="muted">{T.run.errorsOf(count(failed.length))}</p>}
      <dl>
        {failed.slice(0, SHOWN).map((invocation) => (
          <div key={invocation.run_id}>
            <dt>{nameOf(invocation)}</dt>
            <dd>
              <span class="message">{invocation.error}</span>
              {invocation.error_place === undefined ? null : (
                <span class="muted">
                  {T.run.place}: <code>{invocation.error_place}</code>
                </span>
              )}
              {invocation.error_hint === undefined ? null : (
                <span class="muted">{invocation.error_hint}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

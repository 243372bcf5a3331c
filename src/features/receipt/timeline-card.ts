/** When each invocation ran, and what it moved. */
import { seconds, thousands } from '../../lib/text/count.ts';
import { spanOf, timeBar, type TimeSpan } from './charts.ts';
import { markup, type Markup } from './markup.ts';
import { worstFirst, type ReceiptInvocation } from './receipt.ts';

/** Rows of the table; those that failed come first, and the rest are counted. */
const MOST = 500;

export function timelineCard(invocations: readonly ReceiptInvocation[]): Markup {
  if (invocations.length === 0)
    return markup`<section class="card">
      <h2>Timeline</h2>
      <p class="muted">Nothing of this run was executed.</p>
    </section>`;
  const span = spanOf(invocations);
  const shown = worstFirst(invocations).slice(0, MOST);
  const left = invocations.length - shown.length;
  return markup`<section class="card">
    <h2>Timeline</h2>
    <div class="wide" tabindex="0" role="region" aria-label="Timeline">
      <table>
        <thead>
          <tr>
            <th>Invocation</th>
            <th>Status</th>
            <th class="number">Read</th>
            <th class="number">Written</th>
            <th class="number">Dead letters</th>
            <th class="number">Took</th>
            <th class="bar">${span === undefined ? '' : `0 to ${seconds(span.totalMs)}`}</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map((invocation) => rowOf(invocation, span))}
        </tbody>
      </table>
    </div>
    ${left === 0 ? undefined : markup`<p class="muted">${thousands(left)} more invocations are not listed; they are in the sums above.</p>`}
  </section>`;
}

function rowOf(invocation: ReceiptInvocation, span: TimeSpan | undefined): Markup {
  const { row, key, status, balance, duration_ms: took } = invocation;
  return markup`<tr>
    <td class="named">${key === null ? row : `${row} · ${key}`}</td>
    <td class="${status}">${status}</td>
    <td class="number">${thousands(balance.read)}</td>
    <td class="number">${thousands(balance.written)}</td>
    <td class="number">${thousands(balance.dead_lettered)}</td>
    <td class="number">${seconds(took)}</td>
    <td class="bar">${span === undefined ? undefined : timeBar(invocation, span)}</td>
  </tr>`;
}

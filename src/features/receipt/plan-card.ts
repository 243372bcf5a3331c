/** How the rows ran, and which files they left on the machine. */
import { thousands } from '../../lib/text/count.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { markup, type Markup } from './markup.ts';
import type { ReceiptFile, ReceiptPlan } from './receipt.ts';

const [MOST_ROWS, MOST_EDGES, MOST_FILES] = [100, 500, 500];

const FACTS = [
  ['delivery_guarantee', 'Delivery'],
  ['write_mode', 'Write mode'],
  ['key', 'Key'],
  ['lane', 'Lane'],
  ['lane_reason', 'Because'],
  ['dead_letters', 'Dead letters'],
  ['state', 'Bookmarks'],
  ['depends_on', 'After'],
  ['parent', 'For each record of'],
  ['undo', 'Rollback'],
  ['metadata_columns', 'Added columns'],
] as const;

export function planCard(plan: ReceiptPlan | string): Markup {
  if (typeof plan === 'string')
    return markup`<section class="card">
      <h2>Plan</h2>
      <p class="muted">${plan}</p>
    </section>`;
  const left = plan.rows.length - MOST_ROWS;
  const params = Object.entries(plan.params);
  return markup`<section class="card">
    <h2>Plan</h2>
    ${plan.warnings.map(({ path, message }) => markup`<p class="notice"><code>${path}</code> ${message}</p>`)}
    ${plan.rows.slice(0, MOST_ROWS).map((row) => rowPlan(row))}
    ${left > 0 ? markup`<p class="muted">${thousands(left)} more rows are not shown.</p>` : undefined}
    ${edgesOf(plan)}
    ${
      params.length === 0
        ? undefined
        : markup`<h3>Parameters</h3>
            <dl class="facts">${params.map(([name, value]) => fact(name, textOf(value)))}</dl>`
    }
  </section>`;
}

function edgesOf({ edges }: ReceiptPlan): Markup | undefined {
  if (edges.length === 0) return undefined;
  return markup`<h3>Graph</h3>
    <ul>
      ${edges.slice(0, MOST_EDGES).map(({ from, to }) => markup`<li>${from} &rarr; ${to}</li>`)}
    </ul>`;
}

function rowPlan(row: Readonly<Record<string, unknown>>): Markup {
  const transforms = Array.isArray(row['transforms']) ? row['transforms'] : [];
  const steps = [
    stepOf(row['source']),
    ...transforms.map((type) => markup`<li>${textOf(type)}</li>`),
    stepOf(row['sink']),
  ].filter((step) => step !== undefined);
  const known = FACTS.filter(([key]) => says(row[key]));
  return markup`<div class="row">
    <h3>${textOf(row['row'])}</h3>
    <ol class="lane">
      ${joined(steps)}
    </ol>
    <dl class="facts">${known.map(([key, name]) => fact(name, textOf(row[key])))}</dl>
  </div>`;
}

function joined(steps: readonly Markup[]): Markup[] {
  const arrow = markup`<li class="arrow" aria-hidden="true">&rarr;</li>`;
  return steps.flatMap((step, index) => (index === 0 ? [step] : [arrow, step]));
}

function stepOf(part: unknown): Markup | undefined {
  const { type, uri } = (part ?? {}) as { readonly type?: unknown; readonly uri?: unknown };
  if (typeof type !== 'string') return undefined;
  const place = typeof uri === 'string' ? markup`<code class="uri">${uri}</code>` : undefined;
  return markup`<li><strong>${type}</strong>${place}</li>`;
}

function fact(name: string, value: string): Markup {
  return markup`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function says(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((item) => textOf(item)).join(', ');
  return value === undefined ? '' : stringifyJson(value as JsonValue);
}

/** `unfinished` are rows that did not complete: what they wrote may be a part. */
export function filesCard(
  files: readonly ReceiptFile[],
  unfinished: ReadonlySet<string>,
): Markup | undefined {
  if (files.length === 0) return undefined;
  const left = files.length - MOST_FILES;
  return markup`<section class="card">
    <h2>Files on the machine of the run</h2>
    <div class="wide" tabindex="0" role="region" aria-label="Files">
      <table>
        <thead>
          <tr>
            <th>File</th>
            <th>Row</th>
            <th class="number">Bytes</th>
            <th>SHA-256</th>
          </tr>
        </thead>
        <tbody>
          ${files.slice(0, MOST_FILES).map(
            ({ path, row, bytes, sha256, note }) =>
              markup`<tr>
                <td><code>${path}</code></td>
                <td>${row}</td>
                <td class="number">${bytes === undefined ? '–' : thousands(bytes)}</td>
                <td>
                  ${sha256 === undefined ? undefined : markup`<code>${sha256}</code>`}
                  ${note === undefined ? undefined : markup`<span class="muted">${note}</span>`}
                  ${unfinished.has(row) ? markup`<span class="muted">as far as it was written before the row ended</span>` : undefined}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${left > 0 ? markup`<p class="muted">${thousands(left)} more files are not listed.</p>` : undefined}
  </section>`;
}

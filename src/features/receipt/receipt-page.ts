/** A receipt as one file for people: nothing is loaded, nothing is executed, nothing is unmasked. */
import type { Redactor } from '../../lib/redact.ts';
import { seconds, thousands } from '../../lib/text/count.ts';
import { flowChart } from './charts.ts';
import { markup, Markup } from './markup.ts';
import { filesCard, planCard } from './plan-card.ts';
import { sumOfBalances, unaccounted, worstFirst, type Receipt } from './receipt.ts';
import { RECEIPT_POLICY, STYLE } from './style.ts';
import { timelineCard } from './timeline-card.ts';

/** Problems that are written out; the rest are counted. */
const MOST_PROBLEMS = 100;

export function receiptPage(given: Receipt, redactor: Pick<Redactor, 'json'>): string {
  const receipt = redactor.json(given);
  const name = receipt.name ?? receipt.run_id;
  return markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${RECEIPT_POLICY}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>Receipt: ${name}</title>
        ${styleElement()}
      </head>
      <body>
        <main>
          ${headOf(receipt)} ${receipt.notes.map((note) => markup`<p class="notice">${note}</p>`)}
          ${problemsCard(receipt)} ${balanceCard(receipt)} ${timelineCard(receipt.invocations)}
          ${nodesCard(receipt)} ${filesCard(receipt.files, unfinishedRows(receipt))} ${planCard(receipt.plan)}
          ${footerOf(receipt)}
        </main>
      </body>
    </html> `.text;
}

function unfinishedRows({ invocations }: Receipt): ReadonlySet<string> {
  const unfinished = invocations.filter(({ status }) => status !== 'completed');
  return new Set(unfinished.map(({ row }) => row));
}

/** The text must be the one whose hash the policy names. */
function styleElement(): Markup {
  return new Markup(`<style>${STYLE}</style>`);
}

function headOf(receipt: Receipt): Markup {
  const { run_id: id, name, status, labels } = receipt;
  return markup`<header class="head">
      <p class="brand">Headgate receipt</p>
      <h1>${name ?? 'unnamed run'}</h1>
      <span class="status ${status}">${status}</span>
    </header>
    <dl class="facts card">
      ${fact('Run', markup`<code>${id}</code>`)}
      ${receipt.submitted_at === undefined ? undefined : fact('Submitted', readable(receipt.submitted_at))}
      ${fact('Started', readable(receipt.started_at))}
      ${fact('Finished', readable(receipt.finished_at))} ${fact('Took', tookOf(receipt))}
      ${fact('Records written', thousands(receipt.records_written))}
      ${Object.entries(labels).map(([label, value]) => fact(`Label ${label}`, value))}
    </dl>`;
}

/** `2026-01-31 08:00:00 UTC` */
function readable(time: string | null): string {
  if (time === null) return 'never';
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(time)
    ? `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`
    : time;
}

function tookOf({ started_at: from, finished_at: to }: Receipt): string {
  return from === null || to === null ? '–' : seconds(Date.parse(to) - Date.parse(from));
}

function fact(name: string, value: string | Markup): Markup {
  return markup`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function problemsCard({ error, invocations }: Receipt): Markup | undefined {
  const failed = worstFirst(invocations).filter((one) => one.error !== null);
  if (error === null && failed.length === 0) return undefined;
  const more = failed.length - MOST_PROBLEMS;
  return markup`<section class="card bad">
    <h2>Why it failed</h2>
    ${error === null ? undefined : markup`<p class="problem"><span class="message">${error}</span></p>`}
    ${failed.slice(0, MOST_PROBLEMS).map(
      ({ row, key, error: message, code, place, hint }) =>
        markup`<div class="problem">
          <p>
            <strong>${row}</strong>${key === null ? '' : ` · ${key}`}
            ${code === undefined ? undefined : markup`<code class="muted">${code}</code>`}
          </p>
          <p class="message">${message ?? ''}</p>
          ${place === undefined ? undefined : markup`<p class="muted">In the document: <code>${place}</code></p>`}
          ${hint === undefined ? undefined : markup`<p class="muted">What to do: ${hint}</p>`}
        </div>`,
    )}
    ${more > 0 ? markup`<p class="muted">${thousands(more)} more invocations failed.</p>` : undefined}
  </section>`;
}

function balanceCard({ invocations }: Receipt): Markup {
  const balance = sumOfBalances(invocations);
  const terms = [
    ['', 'Read', 'read'],
    ['−', 'Filtered out', 'filtered'],
    ['+', 'Expanded', 'expanded'],
    ['=', 'After transforms', 'transformed'],
    ['=', 'Written', 'written'],
    ['+', 'Dead letters', 'dead_lettered'],
    ['+', 'Withheld', 'withheld'],
  ] as const;
  const open = unaccounted(balance);
  const remarks = invocations.flatMap(({ row, remarks: said = [] }) =>
    said.map((text) => markup`<li><strong>${row}</strong>: ${text}</li>`),
  );
  return markup`<section class="card">
    <h2>Where every record went</h2>
    ${flowChart(balance)}
    <dl class="equation">
      ${terms.map(
        ([sign, name, kind]) =>
          markup`<div class="${balance[kind] === 0 ? 'none' : `t-${kind}`}" data-term="${kind}">
            <dt>${name}</dt>
            <dd><span class="sign">${sign}</span>${thousands(balance[kind])}</dd>
          </div>`,
      )}
    </dl>
    <p class="verdict ${open === 0 ? 'completed' : 'failed'}">
      ${
        open === 0
          ? 'The balance closes: every record is accounted for.'
          : `The balance does not close: ${thousands(open)} records are not accounted for.`
      }
    </p>
    ${
      remarks.length === 0
        ? undefined
        : markup`<ul>
            ${remarks}
          </ul>`
    }
  </section>`;
}

function nodesCard({ nodes }: Receipt): Markup | undefined {
  if (nodes.length === 0) return undefined;
  return markup`<section class="card">
    <h2>Nodes before the sinks</h2>
    <div class="wide" tabindex="0" role="region" aria-label="Nodes">
      <table>
        <thead>
          <tr>
            <th>Node</th>
            <th>Kind</th>
            <th>Status</th>
            <th class="number">In</th>
            <th class="number">Filtered</th>
            <th class="number">Expanded</th>
            <th class="number">Dead letters</th>
            <th class="number">Out</th>
          </tr>
        </thead>
        <tbody>
          ${nodes.map(
            (node) =>
              markup`<tr>
                <td>${node.id}</td>
                <td>${node.kind}</td>
                <td class="${node.status}">${node.status}</td>
                ${[node.records_in, node.filtered, node.expanded, node.dead_lettered ?? 0, node.records_out].map((records) => markup`<td class="number">${thousands(records)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function footerOf({ document, made }: Receipt): Markup {
  return markup`<footer>
    ${document === undefined ? undefined : markup`<p>Document ${document.name}: <code>sha256:${document.sha256}</code></p>`}
    <p>
      Made by Headgate ${made.version} (${made.by}) on ${made.runtime} at ${made.at}. Secrets are
      masked; times are in UTC.
    </p>
  </footer>`;
}

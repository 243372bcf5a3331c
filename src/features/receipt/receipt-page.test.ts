import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Redactor } from '../../lib/redact.ts';
import type { Receipt, ReceiptInvocation } from './receipt.ts';
import { receiptPage } from './receipt-page.ts';

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u0000`;
const NOTHING = {
  read: 0,
  filtered: 0,
  expanded: 0,
  transformed: 0,
  written: 0,
  dead_lettered: 0,
  withheld: 0,
};

function invocation(changes: Partial<ReceiptInvocation> = {}): ReceiptInvocation {
  return {
    row: 'row-0',
    key: null,
    status: 'completed',
    started_at: '2026-01-31T08:00:00.000Z',
    duration_ms: 1500,
    balance: { ...NOTHING, read: 10, filtered: 1, transformed: 9, written: 7, dead_lettered: 2 },
    error: null,
    ...changes,
  };
}

function receipt(changes: Partial<Receipt> = {}): Receipt {
  return {
    run_id: 'run-1',
    name: 'orders',
    status: 'completed',
    labels: {},
    started_at: '2026-01-31T08:00:00.000Z',
    finished_at: '2026-01-31T08:00:02.000Z',
    records_written: 7,
    error: null,
    notes: [],
    invocations: [invocation()],
    nodes: [],
    plan: 'The plan cannot be shown: it is not stored',
    files: [],
    made: { at: '2026-01-31T08:00:03.000Z', by: 'test', version: '1.2.3', runtime: 'Node' },
    ...changes,
  };
}

const pageOf = (changes: Partial<Receipt> = {}, redactor = new Redactor()): string =>
  receiptPage(receipt(changes), redactor);

describe('the receipt page', () => {
  it('shows a balance that closes, and says when it does not', () => {
    const page = pageOf();
    expect(page).toContain('The balance closes: every record is accounted for.');
    for (const [kind, sign, records] of [
      ['read', '', 10],
      ['filtered', '−', 1],
      ['transformed', '=', 9],
      ['dead_lettered', '+', 2],
    ])
      expect(page).toMatch(
        new RegExp(`data-term="${kind}">[^]*?<span class="sign">\\${sign}</span>${records}</dd>`),
      );
    const lost = invocation({ balance: { ...NOTHING, read: 10, transformed: 10, written: 7 } });
    expect(pageOf({ invocations: [lost] })).toContain('3 records are not accounted for.');
  });

  it('puts what failed first, with its place and what to do', () => {
    const failed = invocation({
      row: 'lost',
      status: 'failed',
      started_at: '2026-01-31T08:00:01.000Z',
      error: 'in.csv is not there',
      place: 'matrix[1].source, line 9',
      hint: 'check the path',
    });
    const page = pageOf({ status: 'failed', invocations: [invocation(), failed] });
    expect(page.indexOf('Why it failed')).toBeLessThan(page.indexOf('Where every record went'));
    expect(page).toMatch(/in\.csv is not there[^]*matrix\[1\]\.source, line 9[^]*check the path/);
    expect(page.indexOf('<td class="named">lost')).toBeLessThan(
      page.indexOf('<td class="named">row-0'),
    );
  });

  it('executes and loads nothing, and allows only its own style sheet', () => {
    const page = pageOf();
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? [];
    expect(page).toContain(`style-src &#39;sha256-${hash('sha256', style, 'base64')}&#39;`);
    expect(page).toContain('default-src &#39;none&#39;');
    expect(page).not.toMatch(/<script| style=| on\w+=|<link|src=|href=|url\(|@import/);
  });

  it('has no markup but its own, whatever names, errors and files are called', () => {
    const known = tagsOf(pageOf(everywhere('plain')));
    const page = pageOf(everywhere(HOSTILE));
    expect(tagsOf(page)).toEqual(known);
    expect(page).toContain('&lt;img src=x onerror=alert(2)&gt;&amp;amp;\uFFFD');
  });

  it('masks secrets before it escapes, wherever they stand', () => {
    const redactor = new Redactor();
    redactor.register('p<ss&word');
    const page = pageOf(everywhere('with p<ss&word inside'), redactor);
    expect(page).not.toMatch(/p&lt;ss/);
    expect(page.match(/with \*\*\* inside/g)?.length).toBeGreaterThan(15);
  });

  it('stays readable with a hundred thousand invocations', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => invocation({ row: `row-${index}` }));
    const page = pageOf({ invocations: many });
    expect(page.length).toBeLessThan(1_000_000);
    expect(page).toContain('99,500 more invocations are not listed');
    expect(page).toContain('700,000');
  });
});

function tagsOf(page: string): readonly string[] {
  return [...page.matchAll(/<[a-z!/][^>]*>/gi)].map(([tag]) => tag.replaceAll(/"[^"]*"/g, '""'));
}

/** The text in every field that takes one. */
function everywhere(text: string): Partial<Receipt> {
  const error = invocation({
    row: text,
    key: text,
    status: 'failed',
    error: text,
    code: text,
    place: text,
    hint: text,
    remarks: [text],
  });
  return {
    run_id: text,
    name: text,
    labels: { [text]: text },
    error: text,
    notes: [text],
    invocations: [error],
    nodes: [
      {
        id: text,
        kind: text,
        status: 'completed',
        records_in: 1,
        filtered: 0,
        expanded: 0,
        records_out: 1,
        error: null,
      },
    ],
    plan: {
      rows: [
        {
          row: text,
          source: { type: text, uri: text },
          sink: { type: text, uri: text },
          transforms: [text],
          key: [text],
          state: { type: text },
          lane_reason: text,
        },
      ],
      edges: [{ from: text, to: text }],
      params: { [text]: text },
      warnings: [{ path: text, message: text }],
    },
    files: [{ path: text, row: text, dataset_uri: text, bytes: 1, sha256: text, note: text }],
    document: { name: text, sha256: 'abc' },
    made: { at: text, by: text, version: text, runtime: text },
  };
}

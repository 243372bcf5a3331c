/** The style sheet of a receipt, which stands inside of it. */
import { hash } from 'node:crypto';

export const STYLE = `
:root {
  --bg: #f5f7f8; --surface: #fff; --text: #16212a; --muted: #54616d; --line: #d9e0e5;
  --accent: #0e6377; --ok: #17713f; --bad: #b4232b; --odd: #855400; --flow: #a9cfd8; --quiet: #c3ccd3;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0e1317; --surface: #151b21; --text: #e4eaee; --muted: #9dabb6; --line: #29333c;
    --accent: #62c7da; --ok: #66cf93; --bad: #ff8d86; --odd: #eeba58; --flow: #2c5e6b; --quiet: #3c4953;
  }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 32px 16px; color: var(--text); background: var(--bg);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 16px; max-width: 980px; margin: 0 auto; }
h1, h2, h3, p, dl, dd, ol, ul, table { margin: 0; }
h1 { font-size: 24px; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin-bottom: 12px; font-size: 15px; }
h3 { margin: 14px 0 6px; font-size: 13px; overflow-wrap: anywhere; }
code { font: 12px/1.5 ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', monospace; overflow-wrap: anywhere; }
h1, h3, td, dd, li, code { unicode-bidi: isolate; }
.muted { color: var(--muted); }
.head { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; }
.brand { width: 100%; color: var(--muted); font-size: 12px; font-weight: 600; letter-spacing: .06em; text-transform: uppercase; }
.status { padding: 1px 9px; border: 1px solid currentcolor; border-radius: 99px; font-size: 12px; font-weight: 600; white-space: nowrap; }
.completed { color: var(--ok); } .failed { color: var(--bad); } .cancelled, .skipped { color: var(--odd); }
.card { padding: 18px 20px; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); }
.bad { border-left: 3px solid var(--bad); }
.notice { padding: 8px 12px; border-left: 3px solid var(--odd); background: var(--surface); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 10px 20px; }
.facts dt { color: var(--muted); font-size: 12px; }
.facts dd { overflow-wrap: anywhere; }
.flow { display: block; width: 100%; height: 96px; margin-bottom: 14px; }
.equation { display: grid; grid-template-columns: repeat(auto-fit, minmax(104px, 1fr)); gap: 8px; }
.equation > div { padding: 6px 0 0; border-top: 3px solid var(--quiet); }
.equation .none dd { color: var(--muted); font-weight: 400; }
.equation dt { color: var(--muted); font-size: 12px; }
.equation dd { font-size: 18px; font-weight: 600; font-variant-numeric: tabular-nums; }
.equation .sign { margin-right: 4px; color: var(--muted); font-weight: 400; }
.equation .t-read, .equation .t-transformed { border-color: var(--flow); }
.equation .t-written { border-color: var(--ok); } .equation .t-expanded { border-color: var(--accent); }
.equation .t-dead_lettered { border-color: var(--bad); } .equation .t-withheld { border-color: var(--odd); }
.verdict { margin-top: 14px; font-weight: 600; }
.f-written { fill: var(--ok); } .f-dead_lettered { fill: var(--bad); } .f-withheld { fill: var(--odd); }
.f-filtered { fill: var(--quiet); } .f-through { fill: var(--flow); } .f-expanded { fill: var(--accent); }
.band { opacity: .3; }
.wide { overflow-x: auto; }
.wide table { min-width: 620px; }
table { width: 100%; border-collapse: collapse; }
th { padding: 4px 12px 6px 0; color: var(--muted); border-bottom: 1px solid var(--line); font-size: 12px; font-weight: 500; text-align: left; white-space: nowrap; }
td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.named { min-width: 120px; }
td.completed, td.failed, td.cancelled, td.skipped { white-space: nowrap; }
.bar { width: 34%; min-width: 160px; }
.bar svg { display: block; width: 100%; height: 12px; margin-top: 4px; }
.b-completed { fill: var(--ok); } .b-failed { fill: var(--bad); } .b-cancelled, .b-skipped { fill: var(--odd); }
.track { fill: var(--line); opacity: .6; }
.problem { padding: 10px 0; border-top: 1px solid var(--line); }
.problem:first-of-type { padding-top: 0; border-top: 0; }
.problem .message { color: var(--bad); overflow-wrap: anywhere; white-space: pre-wrap; }
.lane { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; margin-bottom: 10px; padding: 0; list-style: none; }
.lane li { max-width: 100%; padding: 3px 9px; border: 1px solid var(--line); border-radius: 6px; overflow-wrap: anywhere; }
.lane .arrow { padding: 0; border: 0; color: var(--muted); }
.lane .uri { display: block; color: var(--muted); font-size: 12px; }
footer { color: var(--muted); font-size: 12px; overflow-wrap: anywhere; }
@media print {
  :root { --bg: #fff; --surface: #fff; --text: #000; --muted: #444; --line: #ccc; --accent: #0e6377;
    --ok: #17713f; --bad: #b4232b; --odd: #855400; --flow: #a9cfd8; --quiet: #c3ccd3; color-scheme: light; }
  body { padding: 0; font-size: 11px; }
  .equation { grid-template-columns: repeat(7, 1fr); }
  main { max-width: none; gap: 10px; }
  .card { padding: 12px 14px; }
  .problem, .row, tr, .equation > div, .flow { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .wide { overflow: visible; }
  .wide table { min-width: 0; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;

/** What the page may do: show itself with its own style sheet, and nothing else. */
export const RECEIPT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

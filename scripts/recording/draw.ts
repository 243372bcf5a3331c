/**
 * Draws a played session as an SVG that CSS moves: no script, so that it also plays in an `img`.
 * Who asks for less motion sees the end of it.
 */
import { plainText, screenLines, type Line } from './screen.ts';
import { COLUMNS, type Played } from './session.ts';

const ROWS = 26;
const [CHARACTER, LINE, SIZE, MARGIN, BAR] = [8.43, 20, 14, 18, 34];
const [TYPING_MS, THINKING_MS, LINE_MS] = [38, 450, 40];
const PROMPT: Line = [{ text: '$ ', style: 'green' }];

interface Shown {
  readonly line: Line;
  readonly atMs: number;
  /** Of commands: how long they are typed. */
  readonly typedMs?: number;
}

export function drawSession(played: readonly Played[]): string {
  const { lines, endMs } = timed(played);
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * MARGIN);
  const height = BAR + ROWS * LINE + MARGIN;
  const percent = (ms: number): string => `${((100 * ms) / endMs).toFixed(2)}%`;
  const rules = lines.map(({ atMs, typedMs }, index) => {
    const name = `l${index}`;
    const frames =
      typedMs === undefined
        ? `@keyframes ${name}{0%{visibility:hidden}${percent(atMs)},100%{visibility:visible}}`
        : `@keyframes ${name}{0%{visibility:hidden}${percent(atMs)}{visibility:visible;clip-path:inset(0 100% 0 0);animation-timing-function:linear}${percent(atMs + typedMs)},100%{visibility:visible;clip-path:inset(0 0 0 0)}}`;
    return `${frames}.${name}{animation-name:${name}}`;
  });
  const texts = lines.map(
    ({ line }, index) =>
      `<text class="l${index}" y="${(index + 1) * LINE}" xml:space="preserve">${line.map(pieceOf).join('')}</text>`,
  );
  const commands = played.map(({ step }) => step.command).join('; ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escaped(`A session in a terminal: ${commands}`)}</title>
<style>
text{font:${SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d5dbe3}
.red{fill:#ff8f88}.green{fill:#7ee2a0}.yellow{fill:#f0cd6d}.blue{fill:#8cbcff}.magenta{fill:#dda8ff}.cyan{fill:#7fd9e6}.bold{font-weight:700}.dim{fill:#93a0b0}
g text,.page{animation-duration:${endMs}ms;animation-iteration-count:infinite;animation-timing-function:step-end}
${rules.join('\n')}
@keyframes page{${scrolling(lines, percent)}}
.page{animation-name:page;transform:translateY(${-offsetAt(lines.length)}px)}
@media (prefers-reduced-motion:reduce){g text,.page{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="10" fill="#12181f" stroke="#56616f"/>
<circle cx="22" cy="18" r="6" fill="#ff8f88"/><circle cx="42" cy="18" r="6" fill="#f0cd6d"/><circle cx="62" cy="18" r="6" fill="#7ee2a0"/>
<svg x="${MARGIN}" y="${BAR}" width="${width - MARGIN}" height="${ROWS * LINE + 6}"><g class="page">
${texts.join('\n')}
</g></svg>
</svg>
`;
}

/** The lines of a drawn session, as texts. */
export function drawnLines(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, inner = '']) =>
    inner
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

/** The same lines from what the programs wrote. */
export function sessionLines(played: readonly Played[]): string[] {
  return timed(played).lines.map(({ line }) => plainText(line));
}

function timed(played: readonly Played[]): { readonly lines: Shown[]; readonly endMs: number } {
  const lines: Shown[] = [];
  let ms = 300;
  for (const [index, { step, output }] of played.entries()) {
    if (index > 0) lines.push({ line: [], atMs: ms });
    const typedMs = step.command.length * TYPING_MS;
    lines.push({
      line: [...PROMPT, { text: step.command, style: 'bold' }],
      atMs: ms,
      typedMs,
    });
    ms += typedMs + THINKING_MS;
    for (const line of screenLines(output, COLUMNS)) {
      lines.push({ line, atMs: ms });
      ms += LINE_MS;
    }
    ms += step.pauseMs;
  }
  return { lines, endMs: ms };
}

/** How far the page has moved up when so many lines are there. */
function offsetAt(count: number): number {
  return Math.max(0, count - ROWS) * LINE;
}

function scrolling(lines: readonly Shown[], percent: (ms: number) => string): string {
  const moves = lines
    .map(({ atMs }, index) => ({ atMs, offset: offsetAt(index + 1) }))
    .filter(({ offset }) => offset > 0);
  const frames = moves.map(
    ({ atMs, offset }) => `${percent(atMs)}{transform:translateY(${-offset}px)}`,
  );
  return `0%{transform:translateY(0)}${frames.join('')}`;
}

function pieceOf({ text, style }: Line[number]): string {
  const inner = escaped(text);
  return style === '' ? inner : `<tspan class="${style}">${inner}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

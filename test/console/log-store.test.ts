import { expect, test } from 'vitest';
import { LogStore, type LogLine } from '../../console/src/run/log-store.ts';

const textOf = (lines: readonly Partial<LogLine>[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const line = (seq: number, level = 'INFO', text = `line ${seq}`): LogLine => ({
  seq,
  ts: '2026-01-31T08:00:00Z',
  level,
  line: text,
});

test('lines of several answers, and live ones, are one log', () => {
  const store = new LogStore();
  store.addText(textOf([line(0), line(1), line(2)]));
  store.addText('');
  store.addText('\n');
  store.add([{ seq: 3, ts: undefined, level: 'WARN', line: 'live' }]);
  store.addText(`\n\n${textOf([line(4)])}\n`);
  expect([store.length, store.count, store.last]).toEqual([5, 5, 4]);
  expect([0, 2, 3, 4].map((index) => store.at(index)?.line)).toEqual([
    'line 0',
    'line 2',
    'live',
    'line 4',
  ]);
  expect([store.at(-1), store.at(5)]).toEqual([undefined, undefined]);
  expect(Array.from(store.all(), ({ seq }) => seq)).toEqual([0, 1, 2, 3, 4]);
});

test.each([
  ['LINE 7', [7]],
  ['"quoted"', [8]],
  ['größe', [9]],
  ['tab\there', [10]],
  ['seq', []],
  ['08:00', []],
])('a search for %s looks at the text of lines and at nothing else', async (text, found) => {
  const store = new LogStore();
  store.addText(
    textOf([
      line(7),
      line(8, 'INFO', 'a "quoted" word'),
      line(9, 'INFO', 'GRÖSSE größe'),
      line(10, 'INFO', 'tab\there'),
    ]),
  );
  store.filter({ text, level: 'all' });
  await expect.poll(() => store.count).toBe(found.length);
  expect(found.map((_, index) => store.at(index)?.seq)).toEqual(found);
});

test('a level keeps lines that are as bad or worse, also of those that come later', async () => {
  const store = new LogStore();
  store.filter({ text: '', level: 'warn' });
  store.addText(textOf([line(0), line(1, 'WARN'), line(2, 'ERROR')]));
  store.addText(textOf([line(3, 'ERROR'), line(4, 'DEBUG')]));
  await expect.poll(() => store.count).toBe(3);
  expect([0, 1, 2].map((index) => store.at(index)?.seq)).toEqual([1, 2, 3]);
});

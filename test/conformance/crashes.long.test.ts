/** Every sink of this build holds what its delivery promises when it is killed at any failpoint. */
import { AssertionError } from 'node:assert';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROKEN_SINKS } from './broken/sinks.ts';
import { crashCases, crashEverywhere } from './crash/crash.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { fixturesOf, sinkFixtures } from './fixtures/fixtures-of.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';
import { SinkSubject } from '../../src/conformance/sink/subject.ts';

const LONG = { timeout: 900_000 };
/** Opened, and for each of two pages before and after the write, the flush and the bookmark. */
const FEWEST_FAILPOINTS = 8;

const encodings = new Set<string>();
const registered: (readonly [string, SinkFixture, () => Promise<SinkSubject>])[] = [];
for (const [sink, fixture] of await sinkFixtures()) {
  for (const encoding of Object.keys(fixture.encoded ?? {})) encodings.add(encoding);
  if (fixture.crashesLike !== undefined) continue;
  const name = fixture.name === undefined ? sink.type : `${sink.type} (${fixture.name})`;
  const shown = fixture.missing === undefined ? name : `${name} [${fixture.missing}]`;
  registered.push([
    shown,
    fixture,
    () => SinkSubject.of({ definition: sink, fixture, tools: SINK_TOOLS }),
  ]);
}

describe.each(registered)('%s', (_name, fixture, open) => {
  const isHere = fixture.missing === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined));
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere)('holds its promise after a crash at every failpoint', LONG, async () => {
    const subject = await open();
    for (const crashCase of crashCases(subject)) {
      const tried = await crashEverywhere(subject, crashCase).catch((error: unknown) => {
        throw new Error(crashCase.name, { cause: error });
      });
      expect(tried).toBeGreaterThanOrEqual(FEWEST_FAILPOINTS);
    }
  });
});

it.each([...encodings])('pages of `%s` have a test that kills moves inside a page', (encoding) => {
  const file = `killed-moves/${encoding.replaceAll('_', '-')}.long.test.ts`;
  expect(existsSync(new URL(file, import.meta.url)), `add test/conformance/${file}`).toBe(true);
});

describe('a sink that', () => {
  it.each([
    ['stores the watermark before its data', 'exactly once by watermark'],
    ['appends where it should replace', 'effectively once by key'],
    ['keeps all bytes until it is closed', 'at least once'],
  ])('%s does not hold: %s', LONG, async (what, name) => {
    const broken = BROKEN_SINKS.find((one) => one.what === what);
    if (broken === undefined) throw new Error(`there is no sink that ${what}`);
    const [fixture] = await fixturesOf<SinkFixture>('sinks', broken.like);
    if (fixture === undefined) throw new Error('cannot happen: no fixture');
    const subject = await SinkSubject.of({
      definition: broken.definition,
      fixture,
      tools: SINK_TOOLS,
    });
    const crashCase = crashCases(subject).find((one) => one.name === name);
    if (crashCase === undefined) throw new Error(`the sink is not delivered ${name}`);
    const error: unknown = await crashEverywhere(subject, crashCase).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(AssertionError);
    expect(String(error)).toMatch(/lost|twice/);
  });
});

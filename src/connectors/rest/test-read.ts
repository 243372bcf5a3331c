/** Reading a rest source in tests: a clock that only counts, and everything that was yielded. */
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import type { SourceContext } from '../../kit/context.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { restSource } from './index.ts';

export interface SteppingClock extends Clock {
  /** Every wait asked for, in milliseconds. */
  readonly waits: number[];
}

/** Time passes only by sleeping. */
export function steppingClock(start = '2026-02-01T00:00:00Z'): SteppingClock {
  const waits: number[] = [];
  let nowMs = Date.parse(start);
  return {
    waits,
    now: () => new Date(nowMs),
    elapsedMs: () => nowMs,
    sleep: (ms) => {
      waits.push(ms);
      nowMs += ms;
      return Promise.resolve();
    },
  };
}

export interface Run {
  readonly pages: Page[];
  readonly records: JsonValue[];
  /** The last bookmark. */
  readonly bookmark: JsonValue | undefined;
  readonly bookmarks: JsonValue[];
  readonly env: TestEnv;
  readonly waits: number[];
}

export interface RunOptions {
  readonly bookmark?: JsonValue;
  readonly limit?: number;
  readonly clock?: SteppingClock;
  readonly context?: Partial<SourceContext>;
}

/** Parses the config, reads everything and closes the source. */
export async function run(config: JsonObject, options: RunOptions = {}): Promise<Run> {
  const checked = check(restSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues, undefined, 2));
  const clock = options.clock ?? steppingClock();
  const env = testEnv({ clock });
  const source = await restSource.open(checked.value, sourceContext({ env, ...options.context }));
  const pages: Page[] = [];
  const { bookmark, limit } = options;
  try {
    for await (const page of source.pages({
      lane: RECORDS_LANE,
      ...(bookmark === undefined ? {} : { bookmark }),
      ...(limit === undefined ? {} : { limit }),
    })) {
      pages.push(page);
    }
  } finally {
    await source.close();
  }
  const bookmarks = pages.flatMap((page) => (page.bookmark === undefined ? [] : [page.bookmark]));
  return { pages, records: pages.flatMap((page) => [...page.records()]), bookmark: bookmarks.at(-1), bookmarks, env, waits: clock.waits };
}

/** The issues of a config that must not load. */
export function issuesOf(
  config: JsonObject,
): readonly { readonly code: string; readonly path: string; readonly message: string; readonly hint?: string }[] {
  const checked = check(restSource.config, config);
  return checked.ok ? [] : checked.issues;
}

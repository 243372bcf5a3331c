/** Reading a rest source in tests: a clock that only counts, and everything that was yielded. */
import { stillClock, type StillClock } from './clock.ts';
import { sourceContext, testEnv, type TestEnv } from './env.ts';
import { readAll } from './read-all.ts';
import type { SourceContext } from '../../src/kit/context.ts';
import type { Page } from '../../src/kit/page.ts';
import { check } from '../../src/kit/schema.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { restSource } from '../../src/connectors/rest/index.ts';

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
  readonly clock?: StillClock;
  readonly context?: Partial<SourceContext>;
}

/** Parses the config, reads everything and closes the source. */
export async function run(config: JsonObject, options: RunOptions = {}): Promise<Run> {
  const checked = check(restSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues, undefined, 2));
  const clock = options.clock ?? stillClock('2026-02-01T00:00:00Z');
  const env = testEnv({ clock });
  const source = await restSource.open(checked.value, sourceContext({ env, ...options.context }));
  const { bookmark, limit } = options;
  const pages = await readAll(source, {
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(limit === undefined ? {} : { limit }),
  });
  const bookmarks = pages.flatMap((page) => (page.bookmark === undefined ? [] : [page.bookmark]));
  return {
    pages,
    records: pages.flatMap((page) => [...page.records()]),
    bookmark: bookmarks.at(-1),
    bookmarks,
    env,
    waits: clock.waits,
  };
}

/** The issues of a config that must not load. */
export function issuesOf(config: JsonObject): readonly {
  readonly code: string;
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}[] {
  const checked = check(restSource.config, config);
  return checked.ok ? [] : checked.issues;
}

/** Reading a source in tests: a clock that only counts, and everything that was yielded. */
import { stillClock, type StillClock } from './clock.ts';
import { sourceContext, testEnv, type TestEnv } from './env.ts';
import { readAll } from './read-all.ts';
import type { SourceContext } from '../../src/kit/context.ts';
import type { Page } from '../../src/kit/page.ts';
import type { SourceDefinition } from '../../src/kit/source.ts';
import { check } from '../../src/kit/schema.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';

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
export async function runSource(
  definition: SourceDefinition,
  config: JsonObject,
  options: RunOptions = {},
): Promise<Run> {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues, undefined, 2));
  const clock = options.clock ?? stillClock('2026-02-01T00:00:00Z');
  const env = testEnv({ clock });
  const source = await definition.open(checked.value, sourceContext({ env, ...options.context }));
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

/** An issue of a config that must not load. */
export interface ConfigIssue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

export function issuesOf(definition: SourceDefinition, config: JsonObject): readonly ConfigIssue[] {
  const checked = check(definition.config, config);
  return checked.ok ? [] : checked.issues;
}

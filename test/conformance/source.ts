/**
 * The contract of a source, as a suite every source is held to. Numbers in titles are clauses; a
 * harness may opt out of a clause only by naming it with a reason.
 */
import { describe, expect, it } from 'vitest';
import { ConnectorError } from '../../src/lib/errors.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { check } from '../../src/kit/schema.ts';
import { RECORDS_LANE, type Lane, type Page } from '../../src/kit/page.ts';
import type { Source, SourceDefinition } from '../../src/kit/source.ts';
import { sourceContext } from '../fakes/env.ts';

export type SourceClause = 'pages' | 'single_page' | 'byte_bound' | 'cancel' | 'missing';

export interface SourceHarness {
  /** A config whose data set holds `records`, in this order. At least 12 records. */
  config(): Promise<JsonObject> | JsonObject;
  readonly records: readonly JsonValue[];
  /** Configs that must fail with a `ConnectorError`, by what is wrong with them. */
  readonly broken: Readonly<Record<string, JsonObject>>;
  /** Text that must not appear in any message. */
  readonly secret?: string;
  readonly skip?: Partial<Record<SourceClause, string>>;
}

export function describeSource(definition: SourceDefinition, harness: SourceHarness): void {
  describe(`source ${definition.type} keeps the source contract`, () => {
    it('gives every record once, in order', async () => {
      expect((await read(await harness.config())).flatMap((page) => [...page.records()])).toEqual(
        harness.records,
      );
    });

    clause('pages', 'holds at most batch_size records in a page', async () => {
      const pages = await read({ ...(await harness.config()), batch_size: 5 });
      expect(Math.max(...pages.map((page) => page.count))).toBeLessThanOrEqual(5);
      expect(pages.length).toBeGreaterThanOrEqual(Math.ceil(harness.records.length / 5));
      expect(pages.flatMap((page) => [...page.records()])).toEqual(harness.records);
    });

    clause('single_page', 'gives one single page when batch_size is 0', async () => {
      const pages = await read({ ...(await harness.config()), batch_size: 0 });
      expect(pages.filter((page) => page.count > 0)).toHaveLength(1);
    });

    clause(
      'byte_bound',
      'ends a page early when it grows beyond the byte bound, but holds at least one record',
      async () => {
        const pages = await read(await harness.config(), { pageBytes: 1 });
        expect(pages.length).toBeGreaterThan(1);
        expect(pages.flatMap((page) => [...page.records()])).toEqual(harness.records);
      },
    );

    it('counts what it hands over', async () => {
      for (const page of await read(await harness.config()))
        expect(page.count).toBe(page.records().length);
    });

    it('gives the same records in every lane it offers', async () => {
      const config = await harness.config();
      const { encodings } = definition.capabilities(parse(config));
      for (const encoding of encodings) {
        const pages = await read(config, {}, { form: 'bytes', encoding });
        expect(pages.every((page) => page.form.form === 'bytes')).toBe(true);
        expect(pages.flatMap((page) => [...page.records()])).toEqual(harness.records);
        expect(pages.reduce((sum, page) => sum + page.count, 0)).toBe(harness.records.length);
      }
    });

    it('carries bookmarks exactly when it says so', async () => {
      const config = await harness.config();
      const pages = await read(config);
      expect(pages.some((page) => page.bookmark !== undefined)).toBe(
        definition.capabilities(parse(config)).bookmarks,
      );
    });

    it('goes on after its bookmark and not before', async () => {
      const config = {
        ...(await harness.config()),
        ...(harness.skip?.pages === undefined ? { batch_size: 5 } : {}),
      };
      if (!definition.capabilities(parse(config)).bookmarks) return;
      const pages = await read(config);
      const last = pages.findLast((page) => page.bookmark !== undefined);
      const again = await read(config, {}, RECORDS_LANE, last?.bookmark);
      expect(again.reduce((sum, page) => sum + page.count, 0)).toBeLessThan(harness.records.length);
    });

    clause('cancel', 'stops at once when its signal fires', async () => {
      const stop = new AbortController();
      const source = await open(
        {
          ...(await harness.config()),
          ...(harness.skip?.pages === undefined ? { batch_size: 1 } : {}),
        },
        { signal: stop.signal },
      );
      const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
      await pages.next();
      stop.abort(new Error('stop'));
      let more = 0;
      try {
        while ((await pages.next()).done !== true) more += 1;
      } catch (error) {
        expect(error).toBe(stop.signal.reason);
      }
      expect(more).toBeLessThanOrEqual(2);
      await source.close();
    });

    it('can be left in the middle and opened again', async () => {
      const config = await harness.config();
      const source = await open(config);
      for await (const _page of source.pages({ lane: RECORDS_LANE })) break;
      await source.close();
      expect((await read(config)).flatMap((page) => [...page.records()])).toEqual(harness.records);
    });

    for (const [what, config] of Object.entries(harness.broken)) {
      it(`answers ${what} with a typed error that leaks nothing`, async () => {
        const failure = await read(config).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(failure).toBeInstanceOf(ConnectorError);
        const { message } = failure as ConnectorError;
        expect(message.length).toBeGreaterThan(10);
        if (harness.secret !== undefined) expect(message).not.toContain(harness.secret);
      });
    }

    it('names its data set without credentials', async () => {
      const uri = definition.datasetUri(parse(await harness.config()));
      expect(uri).toMatch(/^[a-z][a-z0-9+.-]*:\/\//);
      expect(uri).not.toMatch(/:\/\/[^/?]*:[^/?@]*@/);
      if (harness.secret !== undefined) expect(uri).not.toContain(harness.secret);
    });

    it('reports a probe as findings, never as an exception', async () => {
      if (definition.probe === undefined) return;
      const good = await definition.probe(parse(await harness.config()), sourceContext());
      expect(good.length).toBeGreaterThan(0);
      for (const finding of good) {
        expect(finding.name.trim()).not.toBe('');
        if (finding.status !== 'pass') expect(finding.reason?.trim()).toBeTruthy();
      }
    });
  });

  function clause(name: SourceClause, title: string, body: () => Promise<void>): void {
    const reason = harness.skip?.[name];
    if (reason === undefined) it(title, body);
    else it.skip(`${title} (${reason})`, body);
  }

  function parse(config: JsonObject): unknown {
    const checked = check(definition.config, config);
    if (!checked.ok)
      throw new Error(`the harness config is not valid: ${JSON.stringify(checked.issues)}`);
    return checked.value;
  }

  function open(
    config: JsonObject,
    context: Parameters<typeof sourceContext>[0] = {},
  ): Promise<Source> {
    return Promise.resolve(definition.open(parse(config), sourceContext(context)));
  }

  async function read(
    config: JsonObject,
    context: Parameters<typeof sourceContext>[0] = {},
    lane: Lane = RECORDS_LANE,
    bookmark?: JsonValue,
  ): Promise<Page[]> {
    const source = await open(config, context);
    const pages: Page[] = [];
    try {
      for await (const page of source.pages({
        lane,
        ...(bookmark === undefined ? {} : { bookmark }),
      }))
        pages.push(page);
    } finally {
      await source.close();
    }
    return pages;
  }
}

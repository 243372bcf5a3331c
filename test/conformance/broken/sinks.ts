/**
 * Sinks that break the contract on purpose, each with the clause that must catch it. They show that
 * the suite notices; `broken-sinks.test.ts` runs them.
 */
import { csvSink } from '../../../src/connectors/csv/index.ts';
import { duckdbSink } from '../../../src/connectors/duckdb/index.ts';
import { fileSink } from '../../../src/connectors/file/write/sink.ts';
import { jsonlSink } from '../../../src/connectors/jsonl/index.ts';
import { sqliteSink } from '../../../src/connectors/sqlite/index.ts';
import { Page } from '../../../src/kit/page.ts';
import type { Sink, SinkDefinition } from '../../../src/kit/sink.ts';
import { isObject, type JsonObject } from '../../../src/lib/text/json.ts';
import { openSqlite } from '../../../src/lib/sql/sqlite.ts';

export interface BrokenSink {
  readonly what: string;
  readonly caughtBy: string;
  /** The registered sink whose fixture it is run with. */
  readonly like: string;
  readonly definition: SinkDefinition;
}

type Spoil = (sound: Sink, config: JsonObject) => Partial<Sink>;

/** A sound sink with some members in other words. Its type is its own, so that processes find it. */
function broken(
  caughtBy: string,
  what: string,
  sound: SinkDefinition,
  changes: { readonly definition?: Partial<SinkDefinition>; readonly sink?: Spoil },
): BrokenSink {
  const { definition = {}, sink: spoil = () => ({}) } = changes;
  const open: SinkDefinition['open'] = async (config, context) => {
    const inner = await sound.open(config, context);
    return { ...membersOf(inner), ...spoil(inner, config as JsonObject) };
  };
  const type = `broken-${what.replaceAll(/[^a-z]+/g, '-')}`;
  return {
    what,
    caughtBy,
    like: sound.type,
    definition: { ...sound, open, ...definition, type },
  };
}

/** Sinks may be classes: their members are not their own. */
function membersOf(sink: Sink): Sink {
  return {
    write: (page, options) => sink.write(page, options),
    flush: () => sink.flush(),
    finish: (reason) => sink.finish(reason),
    close: () => sink.close(),
    ...(sink.tokens === undefined ? {} : { tokens: sink.tokens }),
    ...(sink.schema === undefined ? {} : { schema: sink.schema }),
    ...(sink.rollback === undefined ? {} : { rollback: sink.rollback }),
    ...(sink.sweep === undefined ? {} : { sweep: (sweep) => sink.sweep?.(sweep) ?? none() }),
    ...(sink.takeScope === undefined
      ? {}
      : { takeScope: async (scope) => sink.takeScope?.(scope) }),
    ...(sink.outputs === undefined ? {} : { outputs: () => sink.outputs?.() ?? [] }),
    ...(sink.discarded === undefined ? {} : { discarded: () => sink.discarded?.() === true }),
  };
}

const none = (): Promise<number> => Promise.resolve(0);

/** What it wrote reaches the file when it is closed. */
function lateSink(sound: Sink): Partial<Sink> {
  const pages: Page[] = [];
  return {
    write(page) {
      pages.push(Page.ofRecords(page.records()));
      return Promise.resolve({ written: page.count, rejected: [] });
    },
    flush: () => Promise.resolve(),
    finish: () => Promise.resolve(),
    async close() {
      for (const page of pages.splice(0)) await sound.write(page, { partial: false });
      await sound.finish('success');
      await sound.close();
    },
  };
}

/** Flushes for readers of the same process only: a process that is killed loses it. */
function forgetfulSink(sound: Sink): Partial<Sink> {
  let pending: Page[] = [];
  const settle = async (): Promise<void> => {
    for (const page of pending) await sound.write(page, { partial: false });
    pending = [];
  };
  return {
    write(page) {
      pending.push(Page.ofRecords(page.records()));
      return Promise.resolve({ written: page.count, rejected: [] });
    },
    async flush() {
      if (process.send !== undefined && process.argv[1]?.includes('killed-writer')) return;
      await settle();
      await sound.flush();
    },
    async finish(reason) {
      await settle();
      await sound.finish(reason);
    },
  };
}

/** Its pages name no execution, those before which one is held or all. */
function unfenced(onlyHeld: boolean): SinkDefinition['open'] {
  return async (config, context) => {
    const [sound, plain] = await Promise.all([
      sqliteSink.open(config, context),
      sqliteSink.open(config, { ...context, claim: undefined }),
    ]);
    const { tokens } = sound;
    if (tokens === undefined || plain.tokens === undefined) return sound;
    const unmarked = plain.tokens;
    let isHeld = false;
    return {
      ...membersOf(sound),
      tokens: {
        ...tokens,
        async hold(page) {
          isHeld = true;
          await unmarked.hold(page);
        },
        write: (page, scope, token) =>
          isHeld || !onlyHeld
            ? unmarked.write(page, scope, token)
            : tokens.write(page, scope, token),
      },
      async close() {
        await Promise.all([sound.close(), plain.close()]);
      },
    };
  };
}

/** Looks at the place just before a change, and not in one step with it. */
function looksBefore(
  change: (plain: Sink, turn: () => Promise<void>) => Partial<Sink>,
): SinkDefinition['open'] {
  return async (config, context) => {
    const [sound, plain] = await Promise.all([
      sqliteSink.open(config, context),
      sqliteSink.open(config, { ...context, claim: undefined }),
    ]);
    let taken: string | undefined;
    const turn = async (): Promise<void> => {
      if (taken !== undefined) await sound.takeScope?.(taken);
      // Others take the place in between.
      for (let turns = 0; turns < 20; turns += 1)
        await new Promise((resolve) => void setImmediate(resolve));
    };
    return {
      ...membersOf(plain),
      async takeScope(scope) {
        await sound.takeScope?.(scope);
        taken = scope;
      },
      ...change(plain, turn),
      async close() {
        await Promise.all([sound.close(), plain.close()]);
      },
    };
  };
}

function pathOf(config: JsonObject): string {
  return config['database_url'] as string;
}

export const BROKEN_SINKS: readonly BrokenSink[] = [
  broken('flush', 'keeps all bytes until it is closed', csvSink, { sink: lateSink }),
  broken('kill', 'loses what was flushed with its process', jsonlSink, { sink: forgetfulSink }),
  broken('counts', 'counts one record too many', jsonlSink, {
    sink: (sound) => ({
      async write(page, options) {
        const result = await sound.write(page, options);
        return { ...result, written: result.written + (page.count > 10 ? 1 : 0) };
      },
    }),
  }),
  broken('counts', 'loses the last record of large pages', jsonlSink, {
    sink: (sound) => ({
      async write(page, options) {
        await sound.write(page.count > 10 ? page.slice(0, page.count - 1) : page, options);
        return { written: page.count, rejected: [] };
      },
    }),
  }),
  broken('order', 'writes the pages of a flush in another order', jsonlSink, {
    sink(sound) {
      const pages: Page[] = [];
      return {
        write(page) {
          pages.unshift(Page.ofRecords(page.records()));
          return Promise.resolve({ written: page.count, rejected: [] });
        },
        async flush() {
          for (const page of pages.splice(0)) await sound.write(page, { partial: false });
          await sound.flush();
        },
      };
    },
  }),
  broken('outputs', 'lists what it knows with its first record', jsonlSink, {
    definition: {
      async open(config, context) {
        const inner = await jsonlSink.open(config, context);
        let known: ReturnType<NonNullable<typeof inner.outputs>> | undefined;
        return {
          ...membersOf(inner),
          async write(page, options) {
            const result = await inner.write(page, options);
            known ??= inner.outputs?.() ?? [];
            return result;
          },
          outputs: () => known ?? [],
        };
      },
    },
  }),
  broken('close', 'opens its file again after the close', csvSink, {
    definition: {
      async open(config, context) {
        let inner = await csvSink.open(config, context);
        return {
          ...membersOf(inner),
          async write(page, options) {
            return inner.write(page, options);
          },
          outputs: () => inner.outputs?.() ?? [],
          async close() {
            await inner.close();
            inner = await csvSink.open(config, context);
          },
        };
      },
    },
  }),
  broken('failed-page', 'writes a page record by record and claims it is atomic', sqliteSink, {
    sink: (sound) => ({
      async write(page, options) {
        let result = { written: 0, rejected: [] } as Awaited<ReturnType<Sink['write']>>;
        for (const [index, record] of page.records().entries()) {
          const one = await sound.write(Page.ofRecords([record]), options);
          const rejected = one.rejected.map((rejection) => ({ ...rejection, index }));
          result = {
            written: result.written + one.written,
            rejected: [...result.rejected, ...rejected],
          };
        }
        return result;
      },
    }),
  }),
  broken('per-row', 'blames the record after the one at fault', sqliteSink, {
    sink: (sound) => ({
      async write(page, options) {
        const result = await sound.write(page, options);
        const rejected = result.rejected.map((one) => ({ ...one, index: one.index + 1 }));
        return { ...result, rejected };
      },
    }),
  }),
  broken('upsert', 'appends where it should replace', sqliteSink, {
    definition: {
      open: (config, context) =>
        sqliteSink.open({ ...config, write_mode: 'append', key: [] }, context),
    },
  }),
  broken('delete-then-upsert', 'forgets a deletion that an upsert follows', sqliteSink, {
    sink: (sound) => ({
      write(page, options) {
        const records = page.records() as readonly JsonObject[];
        const isLast = (record: JsonObject, index: number): boolean =>
          !records.slice(index + 1).some(({ id }) => id === record['id']);
        return sound.write(Page.ofRecords(records.filter(isLast)), options);
      },
    }),
  }),
  broken('overwrite', 'empties the table before the new one is whole', sqliteSink, {
    sink: (sound, config) => ({
      async write(page, options) {
        if (config['write_mode'] === 'overwrite') {
          const database = openSqlite(pathOf(config), { mode: 'rw', cwd: '/' });
          database.exec('DELETE FROM rows');
          database.close();
        }
        return sound.write(page, options);
      },
    }),
  }),
  broken('token', 'stores the watermark before its data', sqliteSink, {
    sink(sound) {
      const { tokens } = sound;
      if (tokens === undefined) return {};
      const late: Page[] = [];
      return {
        tokens: {
          ...tokens,
          async write(page, scope, token) {
            late.push(Page.ofRecords(page.records()));
            await tokens.write(Page.ofRecords([]), scope, token);
            return { written: page.count, rejected: [] };
          },
        },
        async flush() {
          for (const page of late.splice(0)) await sound.write(page, { partial: false });
          await sound.flush();
        },
      };
    },
  }),
  broken('token-hold', 'commits held pages at a flush', sqliteSink, {
    sink(sound) {
      const { tokens } = sound;
      if (tokens === undefined) return {};
      return {
        tokens: {
          ...tokens,
          hold: async (page) => void (await sound.write(page, { partial: false })),
        },
      };
    },
  }),
  broken('token-forget', 'keeps the token that it is to forget', sqliteSink, {
    sink: ({ tokens }) =>
      tokens === undefined ? {} : { tokens: { ...tokens, forget: () => Promise.resolve() } },
  }),
  broken('taken-over', 'looks at its mark when it opens the place, and never again', sqliteSink, {
    definition: { open: unfenced(false) },
  }),
  broken('taken-over-held', 'commits what it held, whoever has the place', sqliteSink, {
    definition: { open: unfenced(true) },
  }),
  broken('taken-over-open', 'takes a place from a later execution', sqliteSink, {
    definition: {
      open: (config, context) =>
        sqliteSink.open(config, {
          ...context,
          ...(context.claim === undefined ? {} : { claim: 9 - context.claim }),
        }),
    },
  }),
  broken('taken-over-empty', 'marks the place with its first page', sqliteSink, {
    definition: {
      async open(config, context) {
        const [sound, reader] = await Promise.all([
          sqliteSink.open(config, context),
          sqliteSink.open(config, { ...context, claim: undefined }),
        ]);
        const { tokens } = sound;
        if (tokens === undefined || reader.tokens === undefined) return sound;
        const unmarked = reader.tokens;
        return {
          ...membersOf(sound),
          tokens: {
            ...tokens,
            last: async (scope) =>
              (await unmarked.last(scope)) === undefined ? undefined : tokens.last(scope),
            async write(page, scope, token) {
              await tokens.last(scope);
              return tokens.write(page, scope, token);
            },
          },
          async close() {
            await Promise.all([sound.close(), reader.close()]);
          },
        };
      },
    },
  }),
  broken('taken-over-racing', 'reads the watermark before it takes the place', sqliteSink, {
    definition: {
      async open(config, context) {
        const sound = await sqliteSink.open(config, context);
        const { tokens } = sound;
        if (tokens === undefined) return sound;
        return {
          ...membersOf(sound),
          tokens: {
            ...tokens,
            async last(scope) {
              const reader = await sqliteSink.open(config, { ...context, claim: undefined });
              const found = await reader.tokens?.last(scope);
              await reader.close();
              // Pages of the earlier execution are committed in between.
              for (let turns = 0; turns < 20; turns += 1)
                await new Promise((resolve) => void setImmediate(resolve));
              await tokens.last(scope);
              return found;
            },
          },
        };
      },
    },
  }),
  broken('taken-over-sweep', 'removes rows for whoever asks', sqliteSink, {
    definition: { open: looksBefore(() => ({})) },
  }),
  broken('taken-over-sweep', 'looks at its mark before it removes rows', sqliteSink, {
    definition: {
      open: looksBefore((plain, turn) => ({
        async sweep(one) {
          await turn();
          return plain.sweep?.(one) ?? 0;
        },
      })),
    },
  }),
  broken('taken-over-overwrite', 'looks at its mark before it replaces rows', sqliteSink, {
    definition: {
      open: looksBefore((plain, turn) => ({
        async finish(reason) {
          await turn();
          await plain.finish(reason);
        },
      })),
    },
  }),
  broken('taken-over-overwrite-empty', 'marks only tables that are there', sqliteSink, {
    sink: (sound) => ({
      async takeScope(scope) {
        if ((await sound.schema?.current()) !== undefined) await sound.takeScope?.(scope);
      },
    }),
  }),
  broken('taken-over-staged', 'drops what others collect, whoever has the place', sqliteSink, {
    definition: { open: looksBefore(() => ({})) },
  }),
  broken('taken-over-rollback', 'forgets a run for whoever asks', sqliteSink, {
    definition: { open: looksBefore(() => ({})) },
  }),
  broken('read-back', 'reads back what was asked for and not what is there', sqliteSink, {
    definition: {
      readBack(config) {
        const sound = sqliteSink.readBack?.(config);
        if (sound === undefined) return undefined;
        const query = `${sound.config['query'] as string} UNION ALL SELECT 1, 'v1'`;
        return { ...sound, config: { ...sound.config, query } };
      },
    },
  }),
  broken('rollback-upsert', 'forgets a changed row when it rolls back', sqliteSink, {
    sink(sound, config) {
      const { rollback } = sound;
      if (rollback === undefined) return {};
      return {
        rollback: {
          ...rollback,
          async apply(request) {
            const result = await rollback.apply(request);
            if (result.applied && request.mode === 'upsert') {
              const database = openSqlite(pathOf(config), { mode: 'rw', cwd: '/' });
              database.exec("UPDATE rows SET v = 'y' WHERE id = 1");
              database.close();
            }
            return result;
          },
        },
      };
    },
  }),
  broken('sweep', 'sweeps rows outside the scope', sqliteSink, {
    sink: (sound) =>
      sound.sweep === undefined
        ? {}
        : {
            sweep: async ({ scope, keys }) => {
              const removed = (await sound.sweep?.({ scope, keys })) ?? 0;
              return removed === 0
                ? 0
                : removed + ((await sound.sweep?.({ scope: {}, keys })) ?? 0);
            },
          },
  }),
  broken('flags', 'claims a rollback it does not have', duckdbSink, {
    definition: {
      capabilities: (config) => ({ ...duckdbSink.capabilities(config), rollback: true }),
    },
  }),
  broken('flags', 'has tokens that it does not claim', sqliteSink, {
    definition: {
      capabilities: (config) => ({ ...sqliteSink.capabilities(config), token: false }),
    },
  }),
  broken('look', 'makes its file when it is only looked at', sqliteSink, {
    definition: {
      open: (config, context) => sqliteSink.open(config, { ...context, onlyReads: false }),
    },
  }),
  broken('lanes', 'writes another value from columns than from records', jsonlSink, {
    sink: (sound) => ({
      async write(page, options) {
        if (page.columns === undefined) return sound.write(page, options);
        const records = page
          .records()
          .map((one) => (isObject(one) && one['v'] === '' ? { ...one, v: null } : one));
        return sound.write(Page.ofRecords(records), options);
      },
    }),
  }),
  broken('finish-failed', 'removes what was flushed when the run fails', jsonlSink, {
    sink: (sound, config) => ({
      async finish(reason) {
        await sound.finish(reason);
        if (reason !== 'failed') return;
        const { rm } = await import('node:fs/promises');
        await rm(config['path'] as string, { force: true });
      },
    }),
  }),
  broken(
    'finish-cancelled',
    'throws away what a cancelled run wrote and does not say it',
    fileSink,
    {
      sink: () => ({ discarded: () => false }),
    },
  ),
];

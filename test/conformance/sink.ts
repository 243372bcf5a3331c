/** The contract of a sink, as a suite every sink is held to. */
import { describe, expect, it } from 'vitest';
import { ConnectorError } from '../../src/lib/errors.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { JSON_LINES } from '../../src/kit/json-lines.ts';
import { Page } from '../../src/kit/page.ts';
import { check } from '../../src/kit/schema.ts';
import type { FinishReason, Sink, SinkCapabilities, SinkDefinition } from '../../src/kit/sink.ts';
import { sinkContext } from '../fakes/env.ts';

/** A destination made for one test. */
export interface Destination {
  readonly config: JsonObject;
  /**
   * What the destination holds now, as objects, in any order; `undefined` when it does not exist.
   */
  rows(): Promise<readonly JsonObject[] | undefined>;
}

export interface SinkHarness {
  /** A fresh, empty destination for rows of the shape `{id: integer, v: text}`. */
  fresh(): Promise<Destination>;
  readonly broken: Readonly<Record<string, JsonObject>>;
  readonly secret?: string;
  /** Set when what it takes cannot be read back (standard output). */
  readonly unreadable?: string;
}

const row = (id: number, v = `v${id}`): JsonObject => ({ id, v });
const byId = (a: JsonObject, b: JsonObject): number => Number(a['id']) - Number(b['id']);

export function describeSink(definition: SinkDefinition, harness: SinkHarness): void {
  describe(`sink ${definition.type} keeps the sink contract`, () => {
    it('takes pages in order and counts them', async () => {
      const to = await harness.fresh();
      const written = await write(to.config, [[row(1), row(2)], [row(3)]]);
      expect(written).toBe(3);
      await expectRows(to, [row(1), row(2), row(3)]);
    });

    it('holds everything after a flush, even when the row is cancelled', async () => {
      const to = await harness.fresh();
      await write(to.config, [[row(1), row(2), row(3)]], 'cancelled');
      const { flushDurable } = capabilities(to.config);
      if (flushDurable) await expectRows(to, [row(1), row(2), row(3)]);
    });

    it('keeps what was written before a failure readable, or leaves no broken output under the final name', async () => {
      const to = await harness.fresh();
      await write(to.config, [[row(1)]], 'failed');
      if (harness.unreadable === undefined && capabilities(to.config).flushDurable)
        await expectRows(to, [row(1)]);
    });

    it('ends an empty row without an error', async () => {
      const to = await harness.fresh();
      expect(await write(to.config, [])).toBe(0);
    });

    it('takes an empty page', async () => {
      const to = await harness.fresh();
      expect(await write(to.config, [[], [row(1)], []])).toBe(1);
      await expectRows(to, [row(1)]);
    });

    it('writes the same from every encoding it accepts', async () => {
      const plain = await harness.fresh();
      for (const encoding of capabilities(plain.config).encodings) {
        // An encoding of one family is told apart from records only by its own connector, and
        // tested there.
        if (encoding !== JSON_LINES.name) continue;
        const to = await harness.fresh();
        const sink = await open(to.config);
        const result = await sink.write(
          Page.ofBlock(JSON_LINES, JSON_LINES.encode([row(1), row(2)]), 2),
          { partial: false },
        );
        await end(sink, 'success');
        expect(result).toMatchObject({ written: 2, rejected: [] });
        await expectRows(to, [row(1), row(2)]);
      }
    });

    it('advertises append, and only modes that its config accepts', async () => {
      const to = await harness.fresh();
      const can = capabilities(to.config);
      expect(can.writeModes).toContain('append');
      expect(can.writeMode).toBe('append');
      expect(!can.token || can.writeModes.length > 1).toBe(true);
    });

    it('folds repeats of a key in keyed modes and rejects records without one', async () => {
      const to = await harness.fresh();
      if (!capabilities(to.config).writeModes.includes('upsert')) return;
      const config = {
        ...to.config,
        write_mode: 'upsert',
        key: ['id'],
        delete_marker: { field: '__op', values: ['d'] },
      };
      expect(capabilities(config)).toMatchObject({
        writeMode: 'upsert',
        key: ['id'],
        idempotent: true,
      });
      await write(config, [[row(1), row(2)], [row(1, 'again')]]);
      await expectRows(to, [row(1, 'again'), row(2)]);
      await write(config, [[row(1, 'first'), row(1, 'last')]]);
      await expectRows(to, [row(1, 'last'), row(2)]);
      await write(config, [
        [{ ...row(777), __op: 'i' }],
        [
          { id: 777, v: '', __op: 'd' },
          { ...row(2), __op: 'd' },
        ],
      ]);
      await expectRows(to, [row(1, 'last')]);
      const sink = await open(config);
      const result = await sink.write(
        Page.ofRecords([row(5), { v: 'no key' }, { id: null, v: 'null key' }]),
        { partial: true },
      );
      await end(sink, 'success');
      expect(result.written).toBe(1);
      expect(result.rejected.map((rejection) => rejection.index)).toEqual([1, 2]);
      await expectRows(to, [row(1, 'last'), row(5)]);
    });

    it('fails the whole page for a record without a key when nobody takes rejects', async () => {
      const to = await harness.fresh();
      if (!capabilities(to.config).writeModes.includes('upsert')) return;
      const config = { ...to.config, write_mode: 'upsert', key: ['id'] };
      await write(config, [[row(1)]]);
      const sink = await open(config);
      const failure = await sink
        .write(Page.ofRecords([row(2), { v: 'no key' }]), { partial: false })
        .then(
          (result) => (result.rejected.length > 0 ? result.rejected[0]?.error : undefined),
          (error: unknown) => error,
        );
      expect(failure).toBeInstanceOf(Error);
      await end(sink, 'failed');
      await expectRows(to, [row(1)]);
    });

    it('deletes by key in delete mode', async () => {
      const to = await harness.fresh();
      if (!capabilities(to.config).writeModes.includes('delete')) return;
      await write({ ...to.config, write_mode: 'upsert', key: ['id'] }, [[row(1), row(2)]]);
      await write({ ...to.config, write_mode: 'delete', key: ['id'] }, [[{ id: 1 }]]);
      await expectRows(to, [row(2)]);
    });

    it('replaces the whole destination in overwrite mode, only on success', async () => {
      const to = await harness.fresh();
      if (!capabilities(to.config).writeModes.includes('overwrite')) return;
      await write(to.config, [[row(1), row(2)]]);
      const config = { ...to.config, write_mode: 'overwrite' };
      await write(config, [[row(9)]], 'failed');
      await expectRows(to, [row(1), row(2)]);
      await write(config, [[row(9)]], 'cancelled');
      await expectRows(to, [row(1), row(2)]);
      await write(config, [[row(3)], [row(4)]]);
      await expectRows(to, [row(3), row(4)]);
      await write(config, []);
      await expectRows(to, []);
    });

    it('commits a page and its token together', async () => {
      const to = await harness.fresh();
      if (!capabilities(to.config).token) return;
      const first = await open(to.config);
      expect(await first.tokens?.last('conformance::idem')).toBeUndefined();
      await first.tokens?.write(
        Page.ofRecords([row(1), row(2), row(3)]),
        'conformance::idem',
        '00000000000000000001',
      );
      await end(first, 'success');
      const second = await open(to.config);
      expect(await second.tokens?.last('conformance::idem')).toBe('00000000000000000001');
      await second.tokens?.write(
        Page.ofRecords([row(4), row(5)]),
        'conformance::idem',
        '00000000000000000002',
      );
      expect(await second.tokens?.last('conformance::idem')).toBe('00000000000000000002');
      expect(await second.tokens?.last('another')).toBeUndefined();
      await end(second, 'success');
      await expectRows(
        to,
        [1, 2, 3, 4, 5].map((id) => row(id)),
      );
    });

    it('adds a column when it says it can evolve', async () => {
      const to = await harness.fresh();
      if (capabilities(to.config).schema !== 'evolve') return;
      await write(to.config, [[row(1)]]);
      const sink = await open(to.config);
      const names = async (): Promise<readonly string[]> =>
        ((await sink.schema?.current()) ?? []).map((column) => column.name);
      expect(await names()).not.toContain('extra');
      await sink.schema?.evolve?.({ add: [], widen: [], relaxNull: [] });
      await sink.schema?.evolve?.({
        add: [{ name: 'extra', type: 'string' }],
        widen: [],
        relaxNull: [],
      });
      expect(await names()).toContain('extra');
      await sink.write(Page.ofRecords([{ ...row(2), extra: 'new' }]), { partial: false });
      await end(sink, 'success');
      expect((await to.rows())?.find((one) => one['id'] === 2)).toMatchObject({ extra: 'new' });
    });

    for (const [what, config] of Object.entries(harness.broken)) {
      it(`answers ${what} with a typed error that leaks nothing`, async () => {
        const failure = await write(config, [[row(1)]]).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(failure).toBeInstanceOf(ConnectorError);
        const { message } = failure as ConnectorError;
        if (harness.secret !== undefined) expect(message).not.toContain(harness.secret);
      });
    }

    it('names its data set without credentials', async () => {
      const uri = definition.datasetUri(parse((await harness.fresh()).config));
      expect(uri).toMatch(/^[a-z][a-z0-9+.-]*:\/\//);
      expect(uri).not.toMatch(/:\/\/[^/?]*:[^/?@]*@/);
    });

    it('reports a probe as findings, for good and for broken configs', async () => {
      if (definition.probe === undefined) return;
      const good = await definition.probe(parse((await harness.fresh()).config), sinkContext());
      expect(good.map((finding) => finding.status)).not.toContain('fail');
      for (const config of Object.values(harness.broken)) {
        const findings = await definition.probe(parse(config), sinkContext());
        expect(findings.length).toBeGreaterThan(0);
        for (const finding of findings)
          if (finding.status !== 'pass') expect(finding.reason?.trim()).toBeTruthy();
      }
    });
  });

  async function expectRows(to: Destination, expected: readonly JsonObject[]): Promise<void> {
    if (harness.unreadable !== undefined) return;
    const rows = (await to.rows()) ?? [];
    expect([...rows].sort(byId)).toEqual([...expected].sort(byId));
  }

  function parse(config: JsonObject): unknown {
    const checked = check(definition.config, config);
    if (!checked.ok)
      throw new Error(`the harness config is not valid: ${JSON.stringify(checked.issues)}`);
    return checked.value;
  }

  function capabilities(config: JsonObject): SinkCapabilities {
    return definition.capabilities(parse(config));
  }

  async function open(config: JsonObject): Promise<Sink> {
    return definition.open(parse(config), sinkContext());
  }

  async function write(
    config: JsonObject,
    pages: readonly (readonly JsonValue[])[],
    reason: FinishReason = 'success',
  ): Promise<number> {
    const sink = await open(config);
    let written = 0;
    try {
      for (const records of pages)
        written += (await sink.write(Page.ofRecords(records), { partial: false })).written;
    } catch (error) {
      await sink.close();
      throw error;
    }
    await end(sink, reason);
    return written;
  }

  async function end(sink: Sink, reason: FinishReason): Promise<void> {
    await sink.flush();
    await sink.finish(reason);
    await sink.close();
  }
}

/** Clauses about pages that are committed together with a watermark. */
import assert from 'node:assert/strict';
import { Page } from '../../kit/page.ts';
import type { Sink, TokenWriter } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SinkClause } from './clause.ts';
import { failureOf, row, type SinkSubject } from './subject.ts';

export const SCOPE = 'conformance::row-0';
export const noTokens = ({ capabilities }: SinkSubject): string | undefined =>
  capabilities.token ? undefined : 'commits no watermark';

export function tokensOf({ tokens }: Sink): TokenWriter {
  if (tokens === undefined) assert.fail('`capabilities.token` is true, and there are no `tokens`');
  return tokens;
}

export const page = (...ids: readonly number[]): Page => Page.ofRecords(ids.map((id) => row(id)));
export const rows = (...ids: readonly number[]): JsonObject[] => ids.map((id) => row(id));

const together: SinkClause = {
  name: 'token',
  title: 'commits a page and its token at once, for others to see',
  inapplicable: noTokens,
  async check(subject) {
    const to = await subject.fresh();
    const last = (scope = SCOPE): Promise<string | undefined> =>
      subject.using(to.config, (other) => tokensOf(other).last(scope));
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      assert.equal(await tokens.last(SCOPE), undefined);
      const result = await tokens.write(page(1, 2, 3), SCOPE, 'one#{"at":1}');
      assert.equal(result.written, 3);
      await subject.expectRows(to, rows(1, 2, 3), 'when the first token is there');
      assert.equal(await last(), 'one#{"at":1}', 'the token is not there with its page');
      await tokens.write(page(4), SCOPE, 'two');
      await subject.expectRows(to, rows(1, 2, 3, 4), 'when the second token is there');
      await tokens.write(Page.ofRecords([]), SCOPE, 'three');
      assert.equal(await tokens.last(SCOPE), 'three', 'the token of an empty page');
    });
    assert.equal(await last(), 'three');
    assert.equal(await last('another::row'), undefined, 'a scope has the token of another one');
  },
};

const failed: SinkClause = {
  name: 'token-failed-page',
  title: 'commits neither the page nor the token when one of them fails',
  inapplicable: (subject) =>
    noTokens(subject) ?? (subject.offers('upsert') ? undefined : 'has no key to make a page fail'),
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(subject.keyed(to.config), [[row(1)]]);
    const sink = await subject.open(to.config);
    const tokens = tokensOf(sink);
    await tokens.last(SCOPE);
    await failureOf(tokens.write(page(2, 1), SCOPE, 'one'), 'a page with a key that is there');
    await sink.close();
    await subject.expectRows(to, rows(1), 'after a page with a token failed');
    const left = await subject.using(to.config, (other) => tokensOf(other).last(SCOPE));
    assert.equal(left, undefined, 'the token of a page that failed is stored');
  },
};

const killed: SinkClause = {
  name: 'token-kill',
  title: 'has as many pages as its token says after its process was killed',
  inapplicable: noTokens,
  async check(subject) {
    const to = await subject.fresh();
    const steps = [
      { do: 'token', records: rows(1, 2), scope: SCOPE, token: 'one' },
      { do: 'token', records: rows(3), scope: SCOPE, token: 'two' },
      { do: 'hold', records: rows(4) },
      { do: 'flush' },
    ] as const;
    await subject.writeAndKill(to.config, steps, to);
    await subject.expectRows(to, rows(1, 2, 3), 'after the kill');
    const left = await subject.using(to.config, (sink) => tokensOf(sink).last(SCOPE));
    assert.equal(left, 'two', 'the token does not say what is there');
  },
};

const held: SinkClause = {
  name: 'token-hold',
  title: 'commits held pages with the next token or never',
  inapplicable: noTokens,
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(to.config, [[row(0)]]);
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      await tokens.last(SCOPE);
      await tokens.hold(page(1, 2));
      await tokens.hold(page(3));
      await sink.flush();
      await subject.expectRows(to, rows(0), 'while pages are held');
      const result = await tokens.write(page(4), SCOPE, 'one');
      assert.equal(result.written, 4, 'the result counts the records of held pages');
      await subject.expectRows(to, rows(0, 1, 2, 3, 4), 'with the token of held pages');
      await tokens.hold(page(5));
      await sink.flush();
      await sink.finish('cancelled');
    });
    await subject.expectRows(to, rows(0, 1, 2, 3, 4), 'after pages were held to the end');
    const left = await subject.using(to.config, (sink) => tokensOf(sink).last(SCOPE));
    assert.equal(left, 'one');
  },
};

const forgotten: SinkClause = {
  name: 'token-forget',
  title: 'forgets the token of one scope, for others to see, and keeps its records',
  inapplicable: noTokens,
  async check(subject) {
    const to = await subject.fresh();
    const last = (scope: string): Promise<string | undefined> =>
      subject.using(to.config, (other) => tokensOf(other).last(scope));
    await subject.using(to.config, (sink) => tokensOf(sink).forget(SCOPE));
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      await tokens.last(SCOPE);
      await tokens.write(page(1, 2), SCOPE, 'one');
    });
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      await tokens.last(`${SCOPE}::below`);
      await tokens.write(page(3), `${SCOPE}::below`, 'other');
    });
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      await tokens.forget(SCOPE);
      assert.equal(await last(SCOPE), undefined, 'the token is still there');
      await tokens.forget(SCOPE);
    });
    assert.equal(await last(SCOPE), undefined, 'the token came back');
    assert.equal(await last(`${SCOPE}::below`), 'other', 'the token of another scope is gone');
    await subject.expectRows(to, rows(1, 2, 3), 'after a token was forgotten');
    await subject.using(to.config, async (sink) => {
      const tokens = tokensOf(sink);
      await tokens.last(SCOPE);
      await tokens.write(page(4), SCOPE, 'again');
    });
    assert.equal(await last(SCOPE), 'again', 'no token can be written after one was forgotten');
  },
};

export const TOKENS: readonly SinkClause[] = [together, failed, killed, held, forgotten];

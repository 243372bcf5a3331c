/**
 * Clauses about a run that another server took over: its earlier execution, which was frozen or cut
 * off, may wake up at any step, and commits nothing any more.
 */
import assert from 'node:assert/strict';
import { TAKEN_OVER } from '../../kit/execution.ts';
import type { Sink } from '../../kit/sink.ts';
import { ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SinkClause } from './clause.ts';
import { connectorFailureOf, type SinkSubject } from './subject.ts';
import { noTokens, page, rows, SCOPE, tokensOf } from './tokens.ts';

const EARLIER = { runId: 'conformance', claim: 1 };
const LATER = { runId: 'conformance', claim: 2 };
/** Of commits beside a take-over: each ends in one of two ways. */
export const RACES = 5;
const MOST_TRIES = 4;

/** Both executions of one run, on the same destination. */
export async function withBoth(
  subject: SinkSubject,
  config: JsonObject,
  work: (earlier: Sink, later: Sink) => Promise<void>,
): Promise<void> {
  await subject.using(
    config,
    (earlier) => subject.using(config, (later) => work(earlier, later), LATER),
    EARLIER,
  );
}

export async function assertRefused(work: Promise<unknown>, what: string): Promise<void> {
  const { code, message } = await connectorFailureOf(work, what);
  assert.equal(code, TAKEN_OVER, `${what} fails with another error: ${message}`);
}

/** Whether it fails or has nothing to do any more. */
export async function end(sink: Sink): Promise<void> {
  await sink.flush().catch(() => {});
  await sink.finish('success').catch(() => {});
  await sink.close();
}

/** As the engine does it: what may succeed the next time is tried again. */
export async function repeated<T>(work: (isRepeated: boolean) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work(tries > 1);
    } catch (error) {
      const isLast = tries === MOST_TRIES || !(error instanceof ConnectorError);
      if (isLast || !isTransient(error.kind)) throw error;
    }
}

export const last = (sink: Sink): Promise<string | undefined> =>
  repeated(() => tokensOf(sink).last(SCOPE));

export const commit = (sink: Sink, id: number, token: string): Promise<void> =>
  repeated(async (isRepeated) => {
    if (isRepeated && (await tokensOf(sink).last(SCOPE)) === token) return;
    await tokensOf(sink).write(page(id), SCOPE, token);
  });

const storedToken = (subject: SinkSubject, config: JsonObject): Promise<string | undefined> =>
  subject.using(config, (sink) => last(sink));

/** What an execution tries that another one takes over, and what is there when it has ended. */
interface Scene {
  readonly name: string;
  readonly title: string;
  readonly play: (earlier: Sink, later: Sink) => Promise<void>;
  readonly left: { readonly ids: readonly number[]; readonly token: string | undefined };
}

/** The page with which the later execution goes on behind the scene. */
const NEXT = 9;

function clauseOf({ name, title, play, left }: Scene): SinkClause {
  return {
    name,
    title,
    inapplicable: noTokens,
    async check(subject) {
      const to = await subject.fresh();
      await withBoth(subject, to.config, async (earlier, later) => {
        await play(earlier, later);
        await end(earlier);
        await subject.expectRows(to, rows(...left.ids), 'when the earlier execution has ended');
        const token = await storedToken(subject, to.config);
        assert.equal(token, left.token, 'the watermark was moved');
        await commit(later, NEXT, 'last');
      });
      await subject.expectRows(to, rows(...left.ids, NEXT), 'after the later execution went on');
      assert.equal(await storedToken(subject, to.config), 'last');
    },
  };
}

const late = clauseOf({
  name: 'taken-over',
  title: 'commits nothing of an execution that a later one has taken over',
  async play(earlier, later) {
    await last(earlier);
    await commit(earlier, 1, 'one');
    assert.equal(await last(later), 'one', 'what the later one goes on after');
    for (const at of ['the first', 'the second'])
      await assertRefused(
        commit(earlier, 2, 'two'),
        `${at} page of an execution that was taken over`,
      );
  },
  left: { ids: [1], token: 'one' },
});

const held = clauseOf({
  name: 'taken-over-held',
  title: 'commits no page that an execution held when a later one took over',
  async play(earlier, later) {
    await last(earlier);
    await commit(earlier, 1, 'one');
    await tokensOf(earlier).hold(page(2));
    await last(later);
    await commit(later, 3, 'next');
    await assertRefused(commit(earlier, 4, 'two'), 'a page that follows one that was held');
  },
  left: { ids: [1, 3], token: 'next' },
});

const opened = clauseOf({
  name: 'taken-over-open',
  title: 'gives the place to no execution that opens it behind a later one',
  async play(earlier, later) {
    await last(later);
    await commit(later, 1, 'one');
    await assertRefused(last(earlier), 'an execution that opens the place behind a later one');
    await assertRefused(commit(earlier, 2, 'two'), 'its page');
  },
  left: { ids: [1], token: 'one' },
});

const fresh = clauseOf({
  name: 'taken-over-empty',
  title: 'commits nothing of an execution that was taken over before there was anything',
  async play(earlier, later) {
    await last(earlier);
    assert.equal(await last(later), undefined);
    await assertRefused(
      commit(earlier, 1, 'one'),
      'the first page of an execution that was taken over',
    );
  },
  left: { ids: [], token: undefined },
});

const racing: SinkClause = {
  name: 'taken-over-racing',
  title: 'tells whoever takes over of a page that is being committed, or refuses that page',
  inapplicable: noTokens,
  async check(subject) {
    const to = await subject.fresh();
    const expected = [1];
    for (let race = 1; race <= RACES; race += 1) {
      const [earlier, later] = [race * 2 - 1, race * 2].map((claim) => ({ ...EARLIER, claim }));
      await subject.using(
        to.config,
        async (old) => {
          const before = race === 1 ? 'token 1' : await last(old);
          if (race === 1) {
            await last(old);
            await commit(old, 1, before ?? '');
          }
          const id = race + 1;
          const own = `token ${id}`;
          const write = (): Promise<unknown> => outcomeOf(commit(old, id, own));
          // Each of them is the first to begin now and then.
          const begun = race % 2 === 0 ? write() : undefined;
          const [found, written] = await Promise.all([
            subject.using(to.config, (sink) => last(sink), later),
            begun ?? write(),
          ]);
          if (written === undefined) expected.push(id);
          else
            assert.equal(codeOf(written), TAKEN_OVER, `it fails otherwise: ${messageOf(written)}`);
          assert.equal(found, written === undefined ? own : before, 'what the later one found');
        },
        earlier,
      );
      await subject.expectRows(to, rows(...expected), 'after a page beside a take-over');
    }
  },
};

export function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof ConnectorError ? error.code : undefined;
}

export const TAKE_OVER: readonly SinkClause[] = [late, held, opened, fresh, racing];

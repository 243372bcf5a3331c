/** Clauses about stopping and failing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectorError } from '../../lib/errors.ts';
import type { Source } from '../../kit/source.ts';
import type { SourceClause } from './clause.ts';
import { assertSame, assertThat } from './difference.ts';
import { whyNotResumed } from './resume.ts';
import {
  laneName,
  requestOf,
  settled,
  STOP_MS,
  within,
  type ReadOptions,
  type SourceSubject,
} from './subject.ts';

const cancel: SourceClause = {
  name: 'cancel',
  title: 'stops within a second at every page boundary, and can be read on from there',
  async check(subject) {
    const batchSize = subject.batchSizes[1] ?? subject.batchSizes[0];
    for (const lane of subject.lanes) {
      const options = { lane, batchSize };
      const { pages } = await subject.read(options);
      for (let boundary = 0; boundary <= pages.length; boundary += 1) {
        await stopAfter(subject, boundary, options);
        const mark = pages.slice(0, boundary).findLast((page) => page.bookmark !== undefined);
        if (mark === undefined || whyNotResumed(subject.capabilities) !== undefined) continue;
        // Compared with a read that nobody stopped: what it gives is the matter of `resume`.
        const expected = subject.fixture.records.length - mark.position;
        const from = { ...options, bookmark: mark.bookmark, expected };
        const { records } = await subject.read(from);
        await stopAfter(subject, boundary, options);
        assertSame((await subject.read(from)).records, records, whereOf(options, boundary));
      }
    }
  },
};

function whereOf({ lane }: ReadOptions, boundary: number): string {
  return `stopped after ${boundary} pages in the lane ${lane === undefined ? '' : laneName(lane)}`;
}

/** Reads so many pages, fires the signal and sees that it ends. */
async function stopAfter(
  subject: SourceSubject,
  boundary: number,
  options: ReadOptions,
): Promise<void> {
  const stop = new AbortController();
  const where = whereOf(options, boundary);
  const source = await subject.open({ ...options, signal: stop.signal });
  try {
    const pages = source.pages(requestOf(options))[Symbol.asyncIterator]();
    for (let read = 0; read < boundary; read += 1) await pages.next();
    stop.abort(new Error('stopped by the test'));
    const ending = async (): Promise<void> => {
      for (let more = 0; (await pages.next()).done !== true; more += 1)
        assertThat(more < 1, `${where}: it goes on giving pages`);
    };
    await within(STOP_MS, orReason(ending(), stop.signal), `${where}: ends`);
  } finally {
    await within(STOP_MS, source.close(), `${where}: closes`);
  }
}

/** Either way of ending is right: quietly, or with the reason of the signal. */
async function orReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error !== signal.reason) throw error;
    return undefined;
  }
}

const cancelled: SourceClause = {
  name: 'cancelled_before',
  title: 'reads nothing and ends within a second when its signal has fired before',
  async check(subject) {
    const stop = AbortSignal.abort(new Error('stopped by the test'));
    const work = async (): Promise<void> => {
      const source = await subject.open({ signal: stop });
      try {
        let pages = 0;
        for await (const _page of source.pages(requestOf({}))) pages += 1;
        assertThat(pages <= 1, `it gives ${pages} pages`);
      } finally {
        await source.close();
      }
    };
    await within(STOP_MS, orReason(work(), stop), 'ends');
  },
};

/** Time for a source to get into its wait. */
const WAIT_MS = 150;

const cancelWaiting: SourceClause = {
  name: 'cancel_waiting',
  title: 'stops within a second while it waits for a page',
  inapplicable: ({ fixture }) =>
    fixture.endless === undefined ? 'its fixture has no data set that keeps it waiting' : undefined,
  async check(subject) {
    const config = (await subject.fixture.endless?.()) ?? {};
    const stop = new AbortController();
    let source: Source | undefined;
    const work = (async (): Promise<void> => {
      source = await subject.open({ config, signal: stop.signal });
      const { done } = await source.pages(requestOf({}))[Symbol.asyncIterator]().next();
      assertThat(done === true, 'the fixture is wrong: a page came');
    })();
    await Promise.race([settled(work), sleep(WAIT_MS)]);
    stop.abort(new Error('stopped by the test'));
    await within(STOP_MS, orReason(work, stop.signal), 'ends while it waits');
    await within(STOP_MS, source?.close() ?? Promise.resolve(), 'closes after that');
  },
};

const errors: SourceClause = {
  name: 'errors',
  title: 'answers what cannot work with a typed error that leaks nothing',
  inapplicable: ({ fixture }) =>
    Object.keys(fixture.broken ?? {}).length === 0 ? 'its fixture has no broken config' : undefined,
  async check(subject) {
    for (const [what, given] of Object.entries(subject.fixture.broken ?? {})) {
      const config = typeof given === 'function' ? given() : given;
      for (const lane of subject.lanes) {
        const failure = await subject.read({ config, lane }).then(
          () => undefined,
          (error: unknown) => error,
        );
        const where = `${what} (${laneName(lane)})`;
        if (!(failure instanceof ConnectorError)) {
          assertThat(false, `${where}: ${String(failure)} is no ConnectorError`);
          continue;
        }
        const { message, hint = '' } = failure;
        assertThat(message.length > 10, `${where}: the message says too little: ${message}`);
        assertThat(!leaks(subject, `${message} ${hint}`), `${where}: shows a secret: ${message}`);
      }
    }
  },
};

function leaks({ fixture: { secret } }: SourceSubject, text: string): boolean {
  return secret !== undefined && text.includes(secret);
}

const datasetUri: SourceClause = {
  name: 'dataset_uri',
  title: 'names its data set without credentials',
  check(subject) {
    const uri = subject.definition.datasetUri(subject.parse(subject.config));
    assertThat(/^[a-z][a-z0-9+.-]*:\/\//.test(uri), `${uri} is no address`);
    assertThat(!/:\/\/[^/?]*:[^/?@]*@/.test(uri), 'the address holds a password');
    assertThat(!leaks(subject, uri), 'the address holds a secret');
    return Promise.resolve();
  },
};

const probe: SourceClause = {
  name: 'probe',
  title: 'reports a probe as findings, never as an exception',
  inapplicable: ({ definition }) =>
    definition.probe === undefined ? 'it has no probe' : undefined,
  async check(subject) {
    const { definition, fixture, config } = subject;
    const broken = Object.values(fixture.broken ?? {}).map((one) =>
      typeof one === 'function' ? one() : one,
    );
    for (const given of [config, ...broken]) {
      const found = (await definition.probe?.(subject.parse(given), subject.context())) ?? [];
      assertThat(found.length > 0, 'a probe without a finding');
      for (const { name, status, reason } of found) {
        assertThat(name.trim() !== '', 'a finding without a name');
        assertThat(status === 'pass' || Boolean(reason?.trim()), `${name} fails without a reason`);
        assertThat(!leaks(subject, reason ?? ''), `${name} shows a secret`);
      }
    }
  },
};

export const ENDING_CLAUSES: readonly SourceClause[] = [
  cancel,
  cancelled,
  cancelWaiting,
  errors,
  datasetUri,
  probe,
];

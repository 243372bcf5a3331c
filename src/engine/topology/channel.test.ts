import { describe, expect, it } from 'vitest';
import { Page } from '../../kit/page.ts';
import { documentText, isLiteral, JSON_NULL, withSourceText } from '../../lib/text/json-literal.ts';
import { parseData, stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { Channel } from './channel.ts';
import { PageSpill } from './page-spill.ts';

const page = (n: number, bytes = 10) => Page.ofRecords([{ n }], { bytes, bookmark: n });
const numberOf = (got: Page | undefined): unknown => got?.records()[0];

async function drain(channel: Channel): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let got = await channel.next(); got !== undefined; got = await channel.next())
    seen.push(numberOf(got));
  return seen;
}

/** Whether a promise is settled once everything that could settle it had its turn. */
async function isSettled(work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void work.then(() => (settled = true));
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  return settled;
}

describe('a channel', () => {
  it('hands pages on in order and ends', async () => {
    const channel = new Channel({ capacity: 2, capacityBytes: 1e6 });
    const sending = (async () => {
      for (let n = 0; n < 10; n += 1) await channel.send(page(n));
      channel.end();
    })();
    expect(await drain(channel)).toEqual(Array.from({ length: 10 }, (_, n) => ({ n })));
    await sending;
    expect([channel.offered, channel.received, channel.left]).toEqual([10, 10, false]);
  });

  it('makes the producer wait when it is full, by pages and by bytes', async () => {
    const byPages = new Channel({ capacity: 2, capacityBytes: 1e6 });
    await byPages.send(page(1));
    await byPages.send(page(2));
    const third = byPages.send(page(3));
    expect(await isSettled(third)).toBe(false);
    await byPages.next();
    expect(await third).toBe(true);
    const byBytes = new Channel({ capacity: 100, capacityBytes: 15 });
    await byBytes.send(page(1, 1000));
    expect(await isSettled(byBytes.send(page(2)))).toBe(false);
  });

  it('lets go of a producer whose consumer has left', async () => {
    const channel = new Channel({ capacity: 1, capacityBytes: 1e6 });
    await channel.send(page(1));
    const waiting = channel.send(page(2));
    channel.leave();
    expect(await waiting).toBe(false);
    expect(await channel.send(page(3))).toBe(false);
    expect(channel.left).toBe(true);
  });

  it('lets go of a consumer that waits, when it is told to leave', async () => {
    const channel = new Channel({ capacity: 1, capacityBytes: 1e6 });
    const waiting = channel.next();
    channel.leave();
    expect(await waiting).toBeUndefined();
  });

  it('gives the pages before a failure, then the failure', async () => {
    const channel = new Channel({ capacity: 4, capacityBytes: 1e6 });
    await channel.send(page(1));
    channel.fail(new Error('broken'));
    expect(numberOf(await channel.next())).toEqual({ n: 1 });
    await expect(channel.next()).rejects.toThrow('broken');
  });

  it('never makes a producer wait when it may spill, and keeps order and bookmarks', async () => {
    const channel = new Channel({ capacity: 2, capacityBytes: 1e6, spill: new PageSpill() });
    for (let n = 0; n < 50; n += 1) await channel.send(page(n));
    const [first, second] = [await channel.next(), await channel.next()];
    expect([first?.bookmark, second?.bookmark]).toEqual([0, 1]);
    await channel.send(page(50));
    channel.end();
    expect(await drain(channel)).toEqual(Array.from({ length: 49 }, (_, n) => ({ n: n + 2 })));
    expect([channel.offered, channel.received]).toEqual([51, 51]);
  });

  it('keeps large integers and pages without bookmarks through the disk', async () => {
    const channel = new Channel({ capacity: 1, capacityBytes: 1e6, spill: new PageSpill() });
    await channel.send(page(0));
    await channel.send(Page.ofRecords([{ id: 9007199254740993n }, 'text', null], { bytes: 3 }));
    await channel.next();
    const got = await channel.next();
    expect([got?.records(), got?.bookmark, got?.bytes]).toEqual([
      [{ id: 9007199254740993n }, 'text', null],
      undefined,
      3,
    ]);
    channel.leave();
  });

  it('keeps how numbers and documents were written through the disk', async () => {
    const channel = new Channel({ capacity: 1, capacityBytes: 1e6, spill: new PageSpill() });
    const records = [
      parseData('{"price":1.10,"in":[2.0]}'),
      { doc: withSourceText({ a: 1 }, '{"a": 1}'), json: JSON_NULL, none: null },
    ];
    await channel.send(page(0));
    await channel.send(Page.ofRecords(records));
    await channel.next();
    const [first, second] = (await channel.next())?.records() ?? [];
    expect(stringifyJson(first ?? null)).toBe('{"price":1.10,"in":[2.0]}');
    const { doc, json, none } = second as JsonObject;
    expect(documentText(doc ?? null)).toBe('{"a": 1}');
    expect([isLiteral(json), none]).toEqual([true, null]);
    channel.leave();
  });
});

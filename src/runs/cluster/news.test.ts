import { expect, it } from 'vitest';
import type { Member } from '../../history/cluster.ts';
import { askedToLook, newsOfRuns } from './news.ts';

/** Servers `s0`, `s1`, …, some of which execute as much as they may. */
const members = (count: number, isBusy: (n: number) => boolean = () => false): Member[] =>
  Array.from({ length: count }, (_, n) => ({
    instance_id: `s${n}`,
    host: 'h',
    pid: n,
    pid_started: null,
    listen: null,
    started_at: '',
    seen_at: '',
    max_concurrent: 2,
    in_flight: isBusy(n) ? 2 : 1,
    isAlive: true,
    isClustered: true,
  }));
const lookers = (news: string, count: number): number[] =>
  Array.from({ length: count }, (_, n) => n).filter((n) => askedToLook(news, `s${n}`) === 'now');

it('few servers all look', () => {
  const news = newsOfRuns(members(4), 7);
  expect(lookers(news, 4)).toEqual([0, 1, 2, 3]);
});

it('of many some look that have a free slot, each time others, and the rest when it has room', () => {
  const many = members(20, (n) => n % 2 === 0);
  const first = lookers(newsOfRuns(many, 0), 20);
  const second = lookers(newsOfRuns(many, 1), 20);
  expect([first, second]).toEqual([
    [1, 3, 5, 7],
    [9, 11, 13, 15],
  ]);
  expect(askedToLook(newsOfRuns(many, 0), 's0')).toBe('later');
});

it('where all are busy nobody looks now', () => {
  const news = newsOfRuns(
    members(20, () => true),
    0,
  );
  expect(lookers(news, 20)).toEqual([]);
  expect(askedToLook(news, 's1')).toBe('later');
});

it('other news are none of runs', () => {
  for (const news of ['shards', 'cancel s1', 'reload s1 '])
    expect(askedToLook(news, 's1')).toBeUndefined();
});

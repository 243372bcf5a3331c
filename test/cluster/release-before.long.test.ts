/** Servers of this build beside those of the release before, in both orders, on one history. */
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { childrenOf, workshop, type Program } from '../e2e/serve-program.ts';
import { releaseBefore } from '../servers/release-before.ts';
import { eventually } from '../support/eventually.ts';
import { receiver } from './receiver.ts';
import { executedBy, untilTogether } from './servers.ts';
import { ROWS, WatchedDatabase } from './watched-database.ts';

const release = releaseBefore();
const shop = workshop();
const callbacks = await receiver();
let databases: WatchedDatabase[] = [];
let running: Program[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) kill(server);
  for (const database of databases.splice(0)) await database.close();
});
afterAll(async () => {
  await shop.dispose();
  callbacks.close();
  release?.remove();
});

async function start(database: WatchedDatabase, launcher: string | undefined): Promise<Program> {
  const settings = '--cluster --max-concurrent-runs 2 --shutdown-handover'.split(' ');
  const args = ['--history', database.url, ...settings, '--callback-allow-host', '127.0.0.1'];
  const server = await shop.start({ args, ...(launcher === undefined ? {} : { launcher }) });
  running.push(server);
  return server;
}

function kill({ process: { pid = 0 } }: Program): void {
  for (const one of [pid, ...childrenOf(pid)])
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // It has ended.
    }
}

const title =
  release === undefined
    ? 'the release before (its commit is not in this copy of the repository)'
    : `the release before, ${release.version}`;

describe.skipIf(release === undefined)(title, () => {
  test.each([
    ['is joined by this build', [release?.launcher, undefined]],
    ['joins this build', [undefined, release?.launcher]],
  ] as const)(
    '%s: they take over from each other, share shards, and end every run once',
    { timeout: 300_000 },
    async (_what, [earlier, later]) => {
      const database = await WatchedDatabase.open();
      databases.push(database);
      const first = await start(database, earlier);
      await database.watchRuns();
      const submit = async (server: Program, name: string): Promise<string> =>
        server.submit(await database.document(name), { callback: { url: callbacks.url } });
      const ids = new Map([['before', await submit(first, 'before')]]);
      await eventually(async () => expect(await database.count('before')).toBeGreaterThan(200));
      const second = await start(database, later);
      await untilTogether([first, second]);

      // Each executes what the other was given, and sees what the other does.
      const sharded = await first.submit(await database.sharded('shards', 4));
      expect(await second.ended(sharded)).toMatchObject({
        status: 'completed',
        records_written: ROWS,
      });
      expect(await first.get(sharded)).toEqual(await second.get(sharded));
      const waiting = await submit(second, 'cancelled');
      expect((await first.call('POST', `/v1/runs/${waiting}/cancel`)).status).toBe(202);
      expect((await second.ended(waiting)).status).toBe('cancelled');

      // The earlier build executes what has a priority, which it does not know.
      const [mine, other] = earlier === undefined ? [first, second] : [second, first];
      const high = await mine.submit(await database.document('high'), { priority: 'high' });
      expect(await mine.ended(high)).toMatchObject({ status: 'completed', priority: 'high' });
      expect(await other.get(high)).toMatchObject({ status: 'completed', attempt: 0 });

      // One is killed: the other goes on after its bookmarks.
      ids.set('killed', await submit(second, 'killed'));
      await eventually(async () => expect(await database.count('killed')).toBeGreaterThan(200));
      const id = ids.get('killed') ?? '';
      const { holder, others } = await executedBy(database.url, id, [first, second]);
      kill(holder);
      const [left] = others;
      if (left === undefined) throw new Error('there are two servers');
      for (const one of ids.values()) expect((await left.ended(one)).status).toBe('completed');

      // And one hands over, to another of the build that was killed.
      ids.set('given', await submit(left, 'given'));
      await eventually(async () => expect(await database.count('given')).toBeGreaterThan(200));
      const third = await start(database, holder === first ? earlier : later);
      expect(await left.stop()).toBe(0);
      expect(await third.ended(ids.get('given') ?? '')).toMatchObject({
        status: 'completed',
        attempt: 0,
      });
      for (const name of ids.keys()) await database.expectMoved(name);
      await database.expectSoundRuns();
      for (const one of ids.values())
        await eventually(() => expect(callbacks.of(one)).toEqual(['run.completed']));
    },
  );
});

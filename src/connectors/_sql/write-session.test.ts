import { expect, it } from 'vitest';
import { ConnectorError } from '../../lib/errors.ts';
import { WriteSession, type WriteLink } from './write-session.ts';

const LOST = new ConnectorError('connection', 'lost');

class Link implements WriteLink {
  isOver = false;
  fails: 'begin' | 'work' | 'commit' | undefined;
  readonly done: string[] = [];
  begin = (): Promise<void> => this.#do('begin');
  work = (): Promise<void> => this.#do('work');
  commit = (): Promise<void> => this.#do('commit');
  rollback = (): Promise<void> => this.#do('rollback');
  cancel = (): Promise<void> => Promise.resolve();
  close(): void {
    this.isOver = true;
  }

  #do(what: string): Promise<void> {
    this.done.push(what);
    return this.fails === what ? Promise.reject(LOST) : Promise.resolve();
  }
}

function session(prepare: (link: Link, at: number) => void = () => {}) {
  const links: Link[] = [];
  const open = (): Promise<Link> => {
    const link = new Link();
    prepare(link, links.length);
    links.push(link);
    return Promise.resolve(link);
  };
  const made = new WriteSession<Link>(
    {
      open,
      error: (error) => error as Error,
      isBroken: (error) => error === LOST,
      isTransient: () => false,
    },
    new AbortController().signal,
  );
  const write = (): Promise<void> => made.transaction('writing', (link) => link.work());
  return { links, write };
}

const WRITTEN = ['begin', 'work', 'commit'];

it('connects again where the connection has ended while nothing was done', async () => {
  const { links, write } = session();
  await write();
  links.at(0)?.close();
  await write();
  expect(links.map(({ done }) => done)).toEqual([WRITTEN, WRITTEN]);
});

it('connects again where that is found when a transaction is asked for', async () => {
  const { links, write } = session();
  await write();
  Object.assign(links.at(0) ?? {}, { fails: 'begin' });
  await write();
  expect(links.map(({ done }) => done)).toEqual([[...WRITTEN, 'begin'], WRITTEN]);
});

it.each(['work', 'commit'] as const)('repeats nothing where the %s was lost', async (fails) => {
  const { links, write } = session();
  await write();
  Object.assign(links.at(0) ?? {}, { fails });
  await expect(write()).rejects.toBe(LOST);
  expect(links).toHaveLength(1);
});

it('fails where a new connection does not last either', async () => {
  const { links, write } = session((link) => (link.fails = 'begin'));
  await expect(write()).rejects.toBe(LOST);
  expect(links).toHaveLength(1);
  await expect(write()).rejects.toBe(LOST);
  expect(links).toHaveLength(2);
});

/**
 * More servers than one machine can start: what they ask of one database, second by second, with
 * the costs that were counted.
 */

export interface Cost {
  readonly statements: number;
  readonly commits: number;
  readonly walBytes: number;
}

export interface Costs {
  /** Of a server in a second, without runs. */
  readonly idle: Cost;
  /** Of a run, where few servers look for it. */
  readonly run: Cost;
  /** That a server keeps open. */
  readonly connections: number;
  /** Of a run in tables and indexes, until its retention is over. */
  readonly storedBytes: number;
}

/** What one database of 16 processors and a fast disk is taken to do; a limit is half of it. */
const DATABASE = {
  statements: 60_000,
  commits: 12_000,
  walMegabytes: 200,
  connections: 2000,
  storedGigabytes: 2000,
} as const;
const RETENTION_DAYS = 7;
const SECONDS = 20;
/** Runs a second that a server is given. */
const RATE = 5;
/** A statement that looks for runs and finds none, with the transaction around it. */
const LOOK_STATEMENTS = 4;
/** Servers that an announcement wakes (`runs/cluster/news.ts`). */
const WOKEN = 4;
/** A server that is told of a run while it looks already looks once more, and not for each of them. */
const LOOK_MS = 4;

interface Demand {
  readonly statements: number;
  readonly commits: number;
  readonly walMegabytes: number;
  readonly connections: number;
  readonly storedGigabytes: number;
}

/** Every announcement wakes some servers; each looks at most once at a time. */
export function looksPerSecond(
  servers: number,
  runsPerSecond: number,
  random: () => number,
): number {
  const lookingUntil = new Float64Array(servers);
  let looks = 0;
  for (let at = 0; at < SECONDS * 1000;) {
    at += (-Math.log(1 - random()) / runsPerSecond) * 1000;
    const first = Math.floor(random() * servers);
    for (let n = 0; n < Math.min(servers, WOKEN); n += 1) {
      const server = (first + n) % servers;
      const until = lookingUntil[server] ?? 0;
      if (until - at > LOOK_MS) continue;
      lookingUntil[server] = Math.max(at, until) + LOOK_MS;
      looks += 1;
    }
  }
  return looks / SECONDS;
}

function demandOf({ idle, run, connections, storedBytes }: Costs, servers: number): Demand {
  const runs = servers * RATE;
  const looks = looksPerSecond(servers, runs, generator(1));
  return {
    statements: servers * idle.statements + runs * run.statements + looks * LOOK_STATEMENTS,
    commits: servers * idle.commits + runs * run.commits + looks,
    walMegabytes: (servers * idle.walBytes + runs * run.walBytes) / 1e6,
    connections: servers * connections,
    storedGigabytes: (runs * storedBytes * 86_400 * RETENTION_DAYS) / 1e9,
  };
}

/** A table in Markdown: what is asked, and what gives out first. */
export function simulate(costs: Costs): string {
  const rows = [1, 3, 10, 30, 100, 300, 1000].map((servers) => {
    const demand = demandOf(costs, servers);
    const shares = (Object.keys(DATABASE) as (keyof Demand)[])
      .map((what) => ({ what, share: demand[what] / DATABASE[what] }))
      .sort((a, b) => b.share - a.share);
    const [most] = shares;
    const over = shares.filter(({ share }) => share > 0.5).map(({ what }) => what);
    const cells = [
      servers,
      servers * RATE,
      Math.round(demand.statements),
      Math.round(demand.commits),
      demand.walMegabytes.toFixed(1),
      Math.round(demand.connections),
      Math.round(demand.storedGigabytes),
      over.length === 0
        ? `none (${most?.what} ${Math.round((most?.share ?? 0) * 100)} %)`
        : over.join(', '),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = [
    'servers',
    'runs/s',
    'statements/s',
    'commits/s',
    'WAL MB/s',
    'connections',
    'stored GB',
    'over half',
  ];
  return `| ${head.join(' | ')} |\n| ${head.map(() => '---:').join(' | ')} |\n${rows.join('\n')}\n`;
}

/** The same numbers each time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

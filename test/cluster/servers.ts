/** Which of some servers is which instance of the cluster. */
import { Client } from 'pg';
import { expect } from 'vitest';
import type { Program } from '../e2e/serve-program.ts';
import { eventually } from '../support/eventually.ts';

export interface Executed {
  /** Who executes the run, or did so last. */
  readonly holder: Program;
  readonly others: Program[];
}

export async function instanceOf(server: Program): Promise<string> {
  const { members } = (await server.call('GET', '/v1/cluster')).json() as {
    members: { instance_id: string; is_self: boolean }[];
  };
  return members.find(({ is_self }) => is_self)?.instance_id ?? '';
}

export async function whoIs(servers: readonly Program[], owner: string): Promise<Executed> {
  const selves = await Promise.all(servers.map(instanceOf));
  const holder = servers[selves.indexOf(owner)];
  if (holder === undefined) throw new Error(`none of the servers is ${owner}`);
  return { holder, others: servers.filter((server) => server !== holder) };
}

export async function executedBy(
  history: string,
  runId: string,
  servers: readonly Program[],
): Promise<Executed> {
  const client = new Client({ connectionString: history });
  await client.connect();
  try {
    const { rows } = await client.query<{ owner: string }>(
      'SELECT owner FROM svc_serve_runs WHERE run_id = $1',
      [runId],
    );
    return await whoIs(servers, rows[0]?.owner ?? '');
  } finally {
    await client.end();
  }
}

/** Each of them sees all of them. */
export async function untilTogether(servers: readonly Program[]): Promise<void> {
  await eventually(async () => {
    for (const server of servers)
      expect((await server.call('GET', '/readyz')).json()).toMatchObject({
        cluster: { enabled: true, instances: servers.length },
      });
  });
}

import type { Document } from 'mongodb';
import type { SinkContext } from '../../../kit/context.ts';
import type { ProbeFinding } from '../../../kit/probe.ts';
import { AppError, messageOf } from '../../../lib/errors.ts';
import { MongoLink } from '../../../lib/mongodb/client.ts';
import type { MongodbSinkConfig } from '../config.ts';

/** Whether a run could connect, and has the rights that its mode needs. Nothing is written. */
export async function probeMongodb(
  config: MongodbSinkConfig,
  { signal, env }: SinkContext,
): Promise<ProbeFinding[]> {
  const { connection_uri: uri, database } = config;
  const link = new MongoLink({ uri, database, signal, redactor: env.redactor });
  try {
    await link.run('the server does not answer', (db) => db.command({ ping: 1 }));
    const status: Document = await link
      .run('the rights of the user cannot be read', (db) =>
        db.command({ connectionStatus: 1, showPrivileges: true }),
      )
      .catch(() => ({}));
    const ping: ProbeFinding = { name: 'ping', status: 'pass' };
    const rights = rightsFinding(config, (status['authInfo'] ?? {}) as Document);
    return rights === undefined ? [ping] : [ping, rights];
  } catch (error) {
    const hint = (error instanceof AppError ? error.hint : undefined) ?? 'check `connection_uri`';
    return [{ name: 'ping', status: 'fail', reason: messageOf(error), hint }];
  } finally {
    await link.close();
  }
}

interface Privilege {
  readonly resource: {
    readonly db?: string;
    readonly collection?: string;
    readonly anyResource?: boolean;
  };
  readonly actions: readonly string[];
}

/** `undefined` where nobody has logged in, or the server does not tell. */
function rightsFinding(config: MongodbSinkConfig, auth: Document): ProbeFinding | undefined {
  const users = (auth['authenticatedUsers'] ?? []) as readonly unknown[];
  const privileges = auth['authenticatedUserPrivileges'] as readonly Privilege[] | undefined;
  if (users.length === 0 || privileges === undefined || privileges.length === 0) return undefined;
  const { database, collection } = config;
  const actions = new Set(
    privileges.filter(({ resource }) => covers(resource, config)).flatMap((one) => one.actions),
  );
  const lacking = neededBy(config).filter(
    (action) => !actions.has(action) && !actions.has('anyAction'),
  );
  if (lacking.length === 0) return { name: 'rights', status: 'pass' };
  return {
    name: 'rights',
    status: 'fail',
    reason: `the user may not ${lacking.join(', ')} in \`${database}.${collection}\``,
    hint: `grant a role such as \`readWrite\` on \`${database}\``,
  };
}

function covers(
  { db, collection, anyResource }: Privilege['resource'],
  config: MongodbSinkConfig,
): boolean {
  if (anyResource === true) return true;
  if (db === undefined || collection === undefined) return false;
  return (
    (db === '' || db === config.database) && (collection === '' || collection === config.collection)
  );
}

function neededBy({ write_mode: mode, delete_marker: marker }: MongodbSinkConfig): string[] {
  switch (mode) {
    case 'append':
      return ['insert'];
    case 'upsert':
      return ['find', 'insert', 'update', ...(marker === undefined ? [] : ['remove'])];
    case 'delete':
      return ['find', 'remove'];
    case 'overwrite':
      return ['insert', 'dropCollection', 'createCollection'];
    default:
      return mode satisfies never;
  }
}

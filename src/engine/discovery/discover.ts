/** Asks the source of a document which data sets it has: tables, collections, folders, topics. */
import { createCredentials } from '../../credentials/index.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Discovered } from '../../kit/source.ts';
import type { Env } from '../../lib/env.ts';
import { AppError, assert } from '../../lib/errors.ts';
import type { Plan } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';

export interface DiscoverOptions {
  /** Of a document with one row, as `onlySource` makes it. */
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  readonly clock: Date;
  readonly signal: AbortSignal;
  /** Patterns of names, in which `*` stands for any text. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const PAGE_BYTES = 1024 * 1024;

/** In the order of the source. Throws `AppError`: what cannot be reached, or lists nothing. */
export async function discover({
  plan,
  parts,
  env,
  clock,
  signal,
  include,
  exclude,
}: DiscoverOptions): Promise<readonly Discovered[]> {
  const [row] = plan.rows;
  assert(row !== undefined, 'the document has a row');
  const { definition } = row.source;
  if (definition.discover === undefined)
    throw new AppError('bad_option', `the source \`${definition.type}\` lists no data sets`, {
      hint: `those that do: ${listingSources(parts).join(', ')}`,
    });
  const config = resolvePart(row.source, {
    now: { date: clock, zone: 'UTC' },
    records: new Map(),
  });
  const found = await definition.discover(config, {
    env,
    pipeline: plan.name,
    row: row.id,
    invocationId: env.ids.next(),
    signal,
    credentials: createCredentials(parts.credentials, plan.auth, { env, signal }),
    pageBytes: PAGE_BYTES,
  });
  const [wanted, unwanted] = [include.map(patternOf), exclude.map(patternOf)];
  return found.filter(
    ({ name }) =>
      (wanted.length === 0 || wanted.some((pattern) => pattern.test(name))) &&
      !unwanted.some((pattern) => pattern.test(name)),
  );
}

export function listingSources(parts: Parts): readonly string[] {
  const { sources } = parts;
  return sources.types().filter((type) => sources.get(type)?.discover !== undefined);
}

function patternOf(pattern: string): RegExp {
  const literal = pattern.split('*').map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`, 's');
}

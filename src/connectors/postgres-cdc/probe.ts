/** Whether a run could read the changes; nothing is made and nothing is read. */
import type { Client } from 'pg';
import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { postgresError } from '../../lib/sql/postgres.ts';
import type { PostgresCdcConfig } from './config.ts';
import { leftOut } from './left-out.ts';
import { asked, connectToLog, connectUsual } from './session.ts';
import { checkPublication, findSlot } from './slot.ts';

export async function probePostgresCdc(
  config: PostgresCdcConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  let client: Client;
  try {
    await (await connectToLog(config, context)).end();
    client = await connectUsual(config, context);
  } catch (error) {
    return [failed('auth', error)];
  }
  try {
    return [
      { name: 'auth', status: 'pass' },
      await found('publication', publicationFinding(client, config), context),
      await found('slot', slotFinding(client, config), context),
    ];
  } finally {
    await client.end().catch(() => {});
  }
}

async function found(
  name: string,
  finding: Promise<ProbeFinding>,
  { signal }: SourceContext,
): Promise<ProbeFinding> {
  try {
    return await asked('the server cannot be asked', finding, signal);
  } catch (error) {
    signal.throwIfAborted();
    return failed(name, error);
  }
}

async function publicationFinding(
  client: Client,
  config: PostgresCdcConfig,
): Promise<ProbeFinding> {
  const { hasTables } = await checkPublication(client, config);
  const name = 'publication';
  const publication = config.publication_name;
  if (hasTables) {
    const missing = await leftOut(client, publication);
    if (missing.length === 0) return { name, status: 'pass' };
    return {
      name,
      status: 'skip',
      reason: `the publication \`${publication}\` leaves out ${missing.join('; ')}`,
      hint: 'leave it where that is what you want; a copy of the tables would not be whole',
    };
  }
  return {
    name,
    status: 'fail',
    reason: `no table belongs to the publication \`${publication}\``,
    hint: `ALTER PUBLICATION "${publication}" ADD TABLE …`,
  };
}

async function slotFinding(client: Client, config: PostgresCdcConfig): Promise<ProbeFinding> {
  const { slot_name: slot, create_slot_if_missing: mayMake } = config;
  const there = await findSlot(client, config);
  const name = 'slot';
  if (there === undefined)
    return {
      name,
      status: mayMake ? 'skip' : 'fail',
      reason: `there is no slot \`${slot}\`${mayMake ? ' yet; the first run makes it' : ', and `create_slot_if_missing` is false'}`,
      ...(mayMake
        ? {}
        : { hint: `SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')` }),
    };
  if (there.activePid === undefined) return { name, status: 'pass' };
  return {
    name,
    status: 'skip',
    reason: `the slot \`${slot}\` is in use (process ${there.activePid} of the server)`,
    hint: 'a run waits until it is free, as `slot_acquire_retries` says',
  };
}

function failed(name: string, error: unknown): ProbeFinding {
  const known =
    error instanceof AppError ? error : postgresError(error, 'the server cannot be asked');
  const hint = known.hint ?? 'check host, port, user, password and database of `connection_url`';
  return { name, status: 'fail', reason: messageOf(known), hint };
}

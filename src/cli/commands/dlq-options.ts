/** What the commands about dead letters share. */
import { DEAD_REASONS, type DeadReason } from '../../wire/dead-reasons.ts';
import { parseDuration, secondsOf } from '../../lib/time/duration.ts';
import { parseMoment } from '../../lib/time/rfc3339.ts';
import type { ArgumentDefinition } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import { listOption, textOption, type Option, type Values } from '../framework/option.ts';

export const LOCATION_ARGUMENT: ArgumentDefinition = {
  name: 'location',
  required: true,
  completes: 'file',
  description: 'A file of dead letters, a folder of `.jsonl` files, or a glob in quotes.',
};

export const REASON_OPTION: Option<DeadReason | undefined> = {
  ...textOption({ value: 'REASON', description: 'Only dead letters with this reason.' }),
  choices: DEAD_REASONS,
  read: (given) => {
    const written = given?.texts.at(-1);
    const reason = DEAD_REASONS.find((one) => one === written);
    if (written === undefined || reason !== undefined) return reason;
    throw usageError(
      `${given?.from} cannot be ${JSON.stringify(written)}`,
      `one of ${DEAD_REASONS.join(', ')}`,
    );
  },
};

export const KEY_OPTIONS = {
  keyEnv: listOption({
    value: 'VARIABLE',
    description:
      'Environment variable with the key of an encrypted queue; name the current key first.',
  }),
  encryptionKey: listOption({
    value: 'KEY',
    description:
      'The key itself. Others on this machine can read it in the list of processes: prefer `--key-env`.',
  }),
};

/** The keys of an encrypted queue; they are never shown. */
export function keysOf(
  { env }: CliContext,
  { keyEnv, encryptionKey }: Values<typeof KEY_OPTIONS>,
): string[] {
  const fromVariables = keyEnv.map((name) => {
    const key = env.variables[name];
    if (key === undefined || key === '')
      throw usageError(`--key-env names \`${name}\`, which is not set`);
    return key;
  });
  const keys = [...encryptionKey, ...fromVariables];
  for (const key of keys) env.redactor.register(key);
  return keys;
}

/** A time, or how long ago: `7d`, `24h`, `30m`. */
export const BEFORE_OPTION: Option<((now: Date) => number) | undefined> = {
  ...textOption({
    value: 'TIME',
    description:
      'Only dead letters older than a time (`2026-01-31T08:00:00Z`, a date) or an age (`7d`, `24h`, `30m`).',
  }),
  read: (given) => {
    const written = given?.texts.at(-1);
    if (written === undefined) return undefined;
    const age = parseDuration(written);
    if (age?.unit !== undefined) return (now) => now.getTime() - secondsOf(age) * 1000;
    const moment = parseMoment(written);
    if (moment !== undefined) return () => moment.getTime();
    throw usageError(
      `${given?.from} must be a time such as 2026-01-31T08:00:00Z, or an age such as 7d, got ${JSON.stringify(written)}`,
    );
  },
};

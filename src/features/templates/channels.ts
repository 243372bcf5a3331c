/** How a caller names a version of a template: by number, or by a release channel. */
import { RefusedError } from '../../lib/errors.ts';

/** A caller points these at a version. */
export const ASSIGNABLE_CHANNELS = [
  'dev',
  'test',
  'staging',
  'pre-prod',
  'canary',
  'prod',
] as const;
export type AssignableChannel = (typeof ASSIGNABLE_CHANNELS)[number];

/** These follow from launches and versions. */
export const DERIVED_CHANNELS = ['stable', 'previous', 'newest'] as const;
export type DerivedChannel = (typeof DERIVED_CHANNELS)[number];

export type Channel = AssignableChannel | DerivedChannel;
export type VersionSelector =
  | { readonly by: 'number'; readonly version: number }
  | { readonly by: 'channel'; readonly channel: Channel };

/** Throws `unprocessable` for what is neither a version nor a channel. */
export function readSelector(given: string | number): VersionSelector {
  const text = String(given).trim();
  if (/^\d+$/.test(text)) {
    const version = Number(text);
    if (version >= 1 && Number.isSafeInteger(version)) return { by: 'number', version };
    throw unprocessable(`${text} is not a version`, 'versions are numbered from 1');
  }
  return { by: 'channel', channel: readChannel(text) };
}

/** `pre_prod`, `PreProd` and `pre-prod` are one channel. */
export function readChannel(given: string): Channel {
  if (isDerived(given)) return given;
  const name = given
    .trim()
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
  if (isDerived(name) || isAssignable(name)) return name;
  if (name === 'latest')
    throw unprocessable(
      '`latest` is not a channel',
      'use `stable` for the launched version, or `newest` for the last one that was registered',
    );
  throw unprocessable(
    `there is no channel ${JSON.stringify(given)}`,
    `channels: ${[...DERIVED_CHANNELS, ...ASSIGNABLE_CHANNELS].join(', ')}; or a version number`,
  );
}

/** Throws `unprocessable` for a channel that nobody can point at a version. */
export function readAssignable(given: string): AssignableChannel {
  const channel = readChannel(given);
  if (isAssignable(channel)) return channel;
  const how = channel === 'newest' ? 'register a version' : 'launch or roll back a version';
  throw unprocessable(`the channel \`${channel}\` cannot be assigned: it is derived`, how);
}

function isDerived(name: string): name is DerivedChannel {
  return (DERIVED_CHANNELS as readonly string[]).includes(name);
}

function isAssignable(name: string): name is AssignableChannel {
  return (ASSIGNABLE_CHANNELS as readonly string[]).includes(name);
}

function unprocessable(message: string, hint: string): RefusedError {
  return new RefusedError('unprocessable', message, { hint });
}

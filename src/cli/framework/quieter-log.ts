import type { Log } from '../../lib/log.ts';

/**
 * For work that comes again and again: what it tells in passing is told to those who ask for
 * details; warnings and errors to all.
 */
export function quieterLog(log: Log): Log {
  return {
    ...log,
    info: (message, fields) => log.debug(message, fields),
    at: (target) => quieterLog(log.at(target)),
  };
}

import type { Log } from '../../lib/log.ts';

/** For work that repeats: info lines become debug lines; warnings and errors stay. */
export function quieterLog(log: Log): Log {
  return {
    ...log,
    info: (message, fields) => log.debug(message, fields),
    at: (target) => quieterLog(log.at(target)),
  };
}

/**
 * Remembers up to `limit` results of a pure function and forgets all of them when full: cheap,
 * bounded, good for repeating values.
 */
export function memo<R>(compute: (key: string) => R, limit = 4096): (key: string) => R {
  const known = new Map<string, R>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const result = compute(key);
    if (known.size >= limit) known.clear();
    known.set(key, result);
    return result;
  };
}

/** Number of calls after which we decide whether remembering pays. */
const TRIAL = 2048;
/** Remembering pays when at least one of this many calls is a hit. */
const WORTHWHILE = 8;
/** Calls without remembering before the next trial. */
const REST = 16 * TRIAL;

/**
 * Like `memo`, for values that may or may not repeat: while they do not repeat, nothing is
 * remembered.
 */
export function memoWhileItPays<R>(compute: (key: string) => R, limit = 4096): (key: string) => R {
  let misses = 0;
  let calls = 0;
  let resting = 0;
  const remembered = memo((key) => {
    misses += 1;
    return compute(key);
  }, limit);
  return (key) => {
    if (resting > 0) {
      resting -= 1;
      return compute(key);
    }
    calls += 1;
    if (calls === TRIAL) {
      if ((calls - misses) * WORTHWHILE < calls) resting = REST;
      calls = 0;
      misses = 0;
    }
    return remembered(key);
  };
}

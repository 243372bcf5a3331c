/** Remembers up to `limit` results of a pure function and forgets all of them when full: cheap, bounded, good for repeating values. */
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

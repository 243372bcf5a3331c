/**
 * The candidate a person most likely meant: Damerau–Levenshtein distance at most a third of the
 * length, or else the one candidate that starts with the word (`tab`: `table_name`), or that has
 * words more or less at an end (`table_name`: `table`, `url`: `connection_url`).
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = (word.length < 3 ? 0 : Math.max(1, Math.floor(word.length / 3))) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best ?? onlyRelative(word.toLowerCase(), [...candidates]);
}

function onlyRelative(word: string, candidates: readonly string[]): string | undefined {
  if (word.length < 3) return undefined;
  const only = (isNear: (candidate: string) => boolean): string | undefined => {
    const found = candidates.filter((candidate) => isNear(candidate.toLowerCase()));
    return found.length === 1 ? found[0] : undefined;
  };
  return (
    only((candidate) => candidate.startsWith(word)) ??
    only((candidate) => isAtEndOf(word, candidate) || isAtEndOf(candidate, word))
  );
}

function isAtEndOf(short: string, long: string): boolean {
  return short.length >= 3 && (long.startsWith(`${short}_`) || long.endsWith(`_${short}`));
}

/** `did you mean "query"?`, or else the list of what is possible. */
export function suggestion(
  word: string,
  candidates: readonly string[],
  noun = 'one of',
): string | undefined {
  const near = nearest(word, candidates);
  if (near !== undefined) return `did you mean \`${near}\`?`;
  if (candidates.length === 0) return undefined;
  return `${noun}: ${candidates.join(', ')}`;
}

function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + cost,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        value = Math.min(value, (beforePrevious[j - 2] ?? 0) + 1);
      current.push(value);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? limit;
}

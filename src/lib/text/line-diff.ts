/** What is different between two texts, line by line. */

const CONTEXT = 2;

/** Lines with `-` and `+`, and a few around them; `…` stands for those between. */
export function lineDiff(old: readonly string[], fresh: readonly string[]): string[] {
  const changes = changesOf(old, fresh);
  while (changes.at(-1)?.sign === ' ' && changes.at(-1)?.line.trim() === '') changes.pop();
  const near = new Set<number>();
  for (const [at, { sign }] of changes.entries())
    if (sign !== ' ')
      for (let place = at - CONTEXT; place <= at + CONTEXT; place += 1) near.add(place);
  const lines: string[] = [];
  let isGap = false;
  for (const [at, { sign, line }] of changes.entries()) {
    if (!near.has(at)) {
      isGap = true;
      continue;
    }
    if (isGap && lines.length > 0) lines.push('…');
    isGap = false;
    lines.push(`${sign} ${line}`);
  }
  return lines;
}

interface Change {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** By the longest common lines between what begins and ends alike. */
function changesOf(old: readonly string[], fresh: readonly string[]): Change[] {
  let from = 0;
  while (from < old.length && from < fresh.length && old[from] === fresh[from]) from += 1;
  let end = 0;
  while (
    end < old.length - from &&
    end < fresh.length - from &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  )
    end += 1;
  const same = (line: string): Change => ({ sign: ' ', line });
  return [
    ...old.slice(0, from).map(same),
    ...between(old.slice(from, old.length - end), fresh.slice(from, fresh.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

function between(old: readonly string[], fresh: readonly string[]): Change[] {
  const lengths = Array.from({ length: old.length + 1 }, () =>
    Array.from({ length: fresh.length + 1 }, () => 0),
  );
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      (lengths[i] as number[])[j] =
        old[i] === fresh[j]
          ? 1 + (lengths[i + 1]?.[j + 1] ?? 0)
          : Math.max(lengths[i + 1]?.[j] ?? 0, lengths[i]?.[j + 1] ?? 0);
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      changes.push({ sign: ' ', line: old[i] ?? '' });
      [i, j] = [i + 1, j + 1];
    } else if (
      j < fresh.length &&
      (i === old.length || (lengths[i]?.[j + 1] ?? 0) > (lengths[i + 1]?.[j] ?? 0))
    ) {
      changes.push({ sign: '+', line: fresh[j] ?? '' });
      j += 1;
    } else {
      changes.push({ sign: '-', line: old[i] ?? '' });
      i += 1;
    }
  }
  return changes;
}

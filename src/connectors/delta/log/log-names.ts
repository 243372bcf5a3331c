/** The names of the files in the log of a table. */

export const LOG_FOLDER = '_delta_log/';

const DIGITS = 20;

export function commitName(version: number): string {
  return `${padded(version)}.json`;
}

export function checkpointName(version: number): string {
  return `${padded(version)}.checkpoint.parquet`;
}

/** All files of this version and of later ones come behind it. */
export function beforeVersion(version: number): string {
  return padded(version);
}

function padded(version: number): string {
  return String(version).padStart(DIGITS, '0');
}

/** A checkpoint that is complete: of one file or of several parts. */
export interface CheckpointFiles {
  readonly version: number;
  readonly names: readonly string[];
}

const COMMIT = /^(\d{20})\.json$/;
const CLASSIC = /^(\d{20})\.checkpoint\.parquet$/;
const PART = /^(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet$/;
const NAMED = /^(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)$/;

export function commitVersion(name: string): number | undefined {
  const found = COMMIT.exec(name)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The complete checkpoints, latest first; of one version the one of a single file is the first. */
export function checkpointsIn(names: readonly string[]): readonly CheckpointFiles[] {
  const found: (CheckpointFiles & { readonly rank: number })[] = [];
  const parts = new Map<string, string[]>();
  for (const name of names) {
    const single = CLASSIC.exec(name) ?? NAMED.exec(name);
    if (single !== null)
      found.push({ version: Number(single[1]), names: [name], rank: CLASSIC.test(name) ? 0 : 1 });
    const [, version, , count] = PART.exec(name) ?? [];
    if (version === undefined) continue;
    const key = `${version}.${count}`;
    parts.set(key, [...(parts.get(key) ?? []), name]);
  }
  for (const [key, all] of parts) {
    const [version, count] = key.split('.').map(Number) as [number, number];
    if (all.length === count) found.push({ version, names: all.toSorted(), rank: 2 });
  }
  return found.toSorted((a, b) => b.version - a.version || a.rank - b.rank);
}

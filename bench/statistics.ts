/** Order statistics: nothing here assumes that times are distributed in any way. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** First and third quartile; what lies between is the interquartile range. */
  readonly q1: number;
  readonly q3: number;
}

export function summarize(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    min: quantile(sorted, 0),
    max: quantile(sorted, 1),
    q1: quantile(sorted, 0.25),
    q3: quantile(sorted, 0.75),
  };
}

export function median(samples: readonly number[]): number {
  return summarize(samples).median;
}

/** Interpolates between the two nearest samples. */
export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

export interface Ratio {
  /** Of the medians. */
  readonly ratio: number;
  /** Of the runs that stood side by side: the lowest and the highest. */
  readonly low: number;
  readonly high: number;
}

/**
 * How many times as fast `subject` is as `other`; both are times, in the order in which they were
 * taken.
 */
export function speedRatio(subject: readonly number[], other: readonly number[]): Ratio {
  const pairs = subject.map((time, index) => (other[index] ?? Number.NaN) / time);
  return {
    ratio: median(other) / median(subject),
    low: Math.min(...pairs),
    high: Math.max(...pairs),
  };
}

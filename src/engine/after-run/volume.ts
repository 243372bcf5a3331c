/** Whether a volume deviates from earlier ones: pure arithmetic. */
import { sensitivityOf, type SlaConfig } from '../../blocks/sla/schema.ts';

/** `undefined` when the volume is within what is usual, else the usual range as text. */
export function anomalyOf(
  volume: number,
  history: readonly number[],
  config: NonNullable<SlaConfig['volume_anomaly']>,
): string | undefined {
  if (history.length < config.min_history) return undefined;
  const [low, high] =
    config.method === 'zscore'
      ? byDeviation(history, sensitivityOf(config))
      : byQuartiles(history, sensitivityOf(config));
  return volume >= low && volume <= high ? undefined : `${round(low)} to ${round(high)}`;
}

/** When earlier volumes did not vary, any deviation counts. */
function byDeviation(history: readonly number[], sensitivity: number): readonly [number, number] {
  const mean = history.reduce((sum, one) => sum + one, 0) / history.length;
  const variance = history.reduce((sum, one) => sum + (one - mean) ** 2, 0) / history.length;
  const reach = sensitivity * Math.sqrt(variance);
  return [mean - reach, mean + reach];
}

function byQuartiles(history: readonly number[], sensitivity: number): readonly [number, number] {
  const sorted = [...history].sort((a, b) => a - b);
  const [first, third] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  const reach = sensitivity * (third - first);
  return [first - reach, third + reach];
}

/** Linear between the two nearest. */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

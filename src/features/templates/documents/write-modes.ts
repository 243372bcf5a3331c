/** Which write mode a stream gets at a sink (a source names several, the best first). */
import type { WriteMode } from '../../../kit/sink.ts';
import type { SinkTemplate, Stream } from './kinds.ts';

export interface StreamPlan {
  readonly stream: string;
  readonly requested: readonly WriteMode[];
  readonly chosen: WriteMode;
  /** The requested mode for which an alias stands in. */
  readonly satisfies?: WriteMode;
  /** Empty unless records are found by it. */
  readonly key: readonly string[];
}

export interface StreamFault {
  readonly stream: string;
  readonly reason: string;
}

export interface SinkModes {
  /** How messages call the sink. */
  readonly kind: string;
  readonly native: readonly WriteMode[];
  readonly aliases: SinkTemplate['write_mode_aliases'];
}

/** The first mode of the list that the sink has, or that an alias of it stands in for. */
export function planStream(
  { name: stream, write: requested, primary_keys: keys }: Stream,
  { kind, native, aliases }: SinkModes,
): StreamPlan | StreamFault {
  const keyed = requested.find((mode) => isKeyed(mode));
  if (keyed !== undefined && keys.length === 0)
    return { stream, reason: `\`${keyed}\` needs \`primary_keys\`` };
  for (const mode of requested) {
    const alias = aliases[mode];
    const chosen = native.includes(mode) ? mode : alias;
    if (chosen === undefined) continue;
    return {
      stream,
      requested,
      chosen,
      ...(chosen === mode ? {} : { satisfies: mode }),
      key: isKeyed(chosen) ? keys : [],
    };
  }
  const known = Object.entries(aliases).map(([mode, alias]) => `${mode} as ${alias}`);
  const also = known.length === 0 ? '' : `, and by alias ${known.join(', ')}`;
  return {
    stream,
    reason: `it can be written as ${requested.join(' or ')}; \`${kind}\` has ${native.join(', ')}${also}`,
  };
}

export function isFault(planned: StreamPlan | StreamFault): planned is StreamFault {
  return 'reason' in planned;
}

function isKeyed(mode: WriteMode): boolean {
  return mode === 'upsert' || mode === 'delete';
}

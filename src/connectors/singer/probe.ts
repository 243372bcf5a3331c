import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import type { SingerSourceConfig } from './config.ts';
import { probeProgram } from '../_programs/probe-program.ts';
import type { SingerSinkConfig } from './sink-config.ts';

/** Looks at the program and the catalog, and starts nothing. */
export function probeTap(
  { executable, stream, catalog }: SingerSourceConfig,
  context: PartContext,
): ProbeFinding[] {
  return [probeProgram('tap_executable', executable, context), probeStream(stream, catalog)];
}

/** Looks at the program, and starts nothing. */
export function probeTarget(
  { target_command: command }: SingerSinkConfig,
  context: PartContext,
): ProbeFinding[] {
  return [probeProgram('target_executable', command, context)];
}

function probeStream(stream: string, catalog: JsonObject | undefined): ProbeFinding {
  const name = 'stream_in_catalog';
  if (catalog === undefined)
    return { name, status: 'skip', reason: 'the config has no `catalog`: the tap decides' };
  const streams = Array.isArray(catalog['streams']) ? catalog['streams'] : [];
  const names = streams.flatMap((one) =>
    isObject(one) ? [one['stream'], one['tap_stream_id']] : [],
  );
  return names.includes(stream)
    ? { name, status: 'pass' }
    : {
        name,
        status: 'fail',
        reason: `the catalog has no stream \`${stream}\``,
        hint: `run the tap with \`--discover\`, and select the stream in its catalog`,
      };
}

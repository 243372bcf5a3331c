import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import type { SingerSourceConfig } from './config.ts';
import { hasProgram } from './find-program.ts';
import type { SingerSinkConfig } from './sink-config.ts';

/** Looks at the program and the catalog, and starts nothing. */
export function probeTap(
  { executable, stream, catalog }: SingerSourceConfig,
  { env }: PartContext,
): ProbeFinding[] {
  return [probeExecutable('tap_executable', executable, env), probeStream(stream, catalog)];
}

/** Looks at the program, and starts nothing. */
export function probeTarget(
  { target_command: command }: SingerSinkConfig,
  { env }: PartContext,
): ProbeFinding[] {
  return [probeExecutable('target_executable', command, env)];
}

function probeExecutable(name: string, executable: string, env: PartContext['env']): ProbeFinding {
  return hasProgram(executable, env)
    ? { name, status: 'pass' }
    : {
        name,
        status: 'fail',
        reason: `there is no program \`${executable}\``,
        hint: 'install it, and see that its folder is on the PATH of this process, or give its path',
      };
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

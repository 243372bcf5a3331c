/**
 * Projects of Meltano: `plugins`, `jobs` and `schedules` of a `meltano.yml`, with the states that the
 * project has stored. Settings are those that Meltano Hub documents for each plugin.
 */
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { listOf, mappingAt, textOf } from './foreign-values.ts';
import type { ImportedMove } from './imported-move.ts';
import { loaderOf, extractorOf, type Plugin } from './meltano-plugins.ts';
import { streamsOf } from './meltano-streams.ts';

export interface MeltanoInput {
  readonly document: JsonObject;
  /** Of the project, by id: `dev:tap-postgres-to-target-jsonl`. */
  readonly states: Readonly<Record<string, JsonObject>>;
}

interface Pair {
  readonly name: string;
  readonly extractor: string;
  readonly loader: string;
  readonly cron: string | undefined;
}

/** Intervals that have a name. */
const INTERVALS: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
};

export function isMeltano(document: JsonObject): boolean {
  return isObject(document['plugins']);
}

export interface MeltanoImport {
  readonly moves: readonly ImportedMove[];
  /** Pairs that could not be made a document, each with the reason. */
  readonly notes: readonly string[];
}

export function importMeltano({ document, states }: MeltanoInput): MeltanoImport {
  const plugins = mappingAt(document, 'plugins');
  const extractors = pluginsOf(plugins['extractors']);
  const loaders = pluginsOf(plugins['loaders']);
  const moves: ImportedMove[] = [];
  const notes: string[] = [];
  for (const pair of pairsOf(document, { extractors, loaders })) {
    const tap = extractors.get(pair.extractor);
    const target = loaders.get(pair.loader);
    const from = tap && extractorOf(tap);
    const to = target && loaderOf(target);
    if (tap === undefined || from === undefined)
      notes.push(`${pair.name}: there is no counterpart of \`${pair.extractor}\``);
    else if (target === undefined || to === undefined)
      notes.push(`${pair.name}: there is no counterpart of \`${pair.loader}\``);
    else {
      const { name, cron } = pair;
      const state = stateOf(states, `${pair.extractor}-to-${pair.loader}`);
      const read = streamsOf({ tap, target, from, to, state });
      moves.push({ name, cron, from, to, ...read });
    }
  }
  const mappers = listOf(plugins['mappers']);
  if (mappers.length > 0)
    notes.push('mappers: write them as `transforms`, `masking` or a `select` of the rows');
  return { moves, notes };
}

/** Each with what it inherits. */
function pluginsOf(value: JsonObject[string] | undefined): Map<string, Plugin> {
  const all = listOf(value).filter(isObject);
  const byName = new Map(all.map((one) => [textOf(one['name']), one]));
  const inherited = (name: string, heirs: readonly string[]): Plugin => {
    const given = byName.get(name) ?? {};
    const parent = textOf(given['inherit_from']);
    if (parent === '' || heirs.includes(parent)) return { name, base: name, settings: given };
    const { base, settings } = inherited(parent, [...heirs, name]);
    const config = { ...mappingAt(settings, 'config'), ...mappingAt(given, 'config') };
    return { name, base, settings: { ...settings, ...given, config } };
  };
  return new Map([...byName.keys()].map((name) => [name, inherited(name, [])]));
}

function pairsOf(
  document: JsonObject,
  plugins: Readonly<Record<'extractors' | 'loaders', ReadonlyMap<string, Plugin>>>,
): readonly Pair[] {
  const jobs = listOf(document['jobs']).filter(isObject);
  const schedules = listOf(document['schedules']).filter(isObject);
  const cronOf = (found: JsonObject | undefined): string | undefined => {
    const interval = typeof found?.['interval'] === 'string' ? found['interval'] : undefined;
    if (interval === undefined || interval === '@once') return undefined;
    return INTERVALS[interval] ?? interval;
  };
  const ofSchedules = schedules.flatMap((one): Pair[] => {
    const { extractor, loader } = namedBy(one);
    if (extractor === undefined || loader === undefined) return [];
    const name = textOf(one['name']) || `${extractor}-to-${loader}`;
    return [{ name, extractor, loader, cron: cronOf(one) }];
  });
  const ofJobs = jobs.flatMap((job) => {
    const cron = cronOf(schedules.find((one) => one['job'] === job['name']));
    const tasks = [job['tasks'] ?? []].flat(2);
    return tasks.flatMap((task, at): Pair[] => {
      const words = typeof task === 'string' ? task.trim().split(/\s+/) : [];
      const extractor = words.find((word) => plugins.extractors.has(word));
      const loader = words.find((word) => plugins.loaders.has(word));
      if (extractor === undefined || loader === undefined) return [];
      const name = textOf(job['name']) || `${extractor}-to-${loader}`;
      return [{ name: tasks.length > 1 ? `${name}-${at + 1}` : name, extractor, loader, cron }];
    });
  });
  if (ofSchedules.length + ofJobs.length > 0) return [...ofSchedules, ...ofJobs];
  const [loader] = plugins.loaders.keys();
  if (loader === undefined) return [];
  return [...plugins.extractors.keys()].map((extractor) => {
    return { name: extractor.replace(/^tap-/, ''), extractor, loader, cron: undefined };
  });
}

/** `job` may be `tap-x-to-target-y`, which needs no job of that name. */
function namedBy(schedule: JsonObject): { readonly extractor?: string; readonly loader?: string } {
  const { extractor, loader, job } = schedule;
  if (typeof extractor === 'string' && typeof loader === 'string') return { extractor, loader };
  const [, tap, target] = /^(.+)-to-(target-.+)$/.exec(typeof job === 'string' ? job : '') ?? [];
  return tap === undefined || target === undefined ? {} : { extractor: tap, loader: target };
}

/** That of the default environment, or of any. */
function stateOf(states: MeltanoInput['states'], suffix: string): JsonObject {
  const id = Object.keys(states).find((one) => one === suffix || one.endsWith(`:${suffix}`));
  const state = id === undefined ? {} : (states[id] ?? {});
  const singer = mappingAt(state, 'singer_state');
  return mappingAt(Object.keys(singer).length > 0 ? singer : state, 'bookmarks');
}

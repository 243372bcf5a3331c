/**
 * Projects of Meltano: `plugins`, `jobs` and `schedules` of a `meltano.yml`, with the states that the
 * project has stored. Settings are those that Meltano Hub documents for each plugin.
 */
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { kindOf } from './address.ts';
import { mappingAt, textOf } from './foreign-values.ts';
import { lastOf } from './imported-document.ts';
import type { Cursor, ImportedMove, ImportedStream, ImportedSystem } from './imported-move.ts';

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
  return isObject(mappingAt(document, 'plugins')) && 'plugins' in document;
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
    const from = tap && sourceOf(pair.extractor, tap);
    const to = target && targetOf(pair.loader, target);
    if (tap === undefined || from === undefined)
      notes.push(`${pair.name}: there is no counterpart of \`${pair.extractor}\``);
    else if (to === undefined)
      notes.push(`${pair.name}: there is no counterpart of \`${pair.loader}\``);
    else moves.push(moveOf(pair, tap, { from, to, states }));
  }
  const mappers = listOf(plugins['mappers']);
  if (mappers.length > 0)
    notes.push('mappers: write them as `transforms`, `masking` or a `select` of the rows');
  return { moves, notes };
}

function pluginsOf(value: JsonValue | undefined): Map<string, JsonObject> {
  const all = listOf(value).filter(isObject);
  const byName = new Map(all.map((one) => [textOf(one['name']), one]));
  const inherited = ([name, one]: [string, JsonObject]): [string, JsonObject] => {
    const parent = byName.get(textOf(one['inherit_from']));
    if (parent === undefined) return [name, one];
    const config = { ...mappingAt(parent, 'config'), ...mappingAt(one, 'config') };
    return [name, { ...parent, ...one, config }];
  };
  return new Map([...byName].map(inherited));
}

function pairsOf(
  document: JsonObject,
  plugins: Readonly<Record<'extractors' | 'loaders', ReadonlyMap<string, JsonObject>>>,
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
    return [{ name: textOf(one['name']), extractor, loader, cron: cronOf(one) }];
  });
  const ofJobs = jobs.flatMap((job) => {
    const cron = cronOf(schedules.find((one) => one['job'] === job['name']));
    const tasks = [job['tasks'] ?? []].flat().flat();
    return tasks.flatMap((task, at): Pair[] => {
      const words = typeof task === 'string' ? task.trim().split(/\s+/) : [];
      const extractor = words.find((word) => plugins.extractors.has(word));
      const loader = words.find((word) => plugins.loaders.has(word));
      if (extractor === undefined || loader === undefined) return [];
      const name = textOf(job['name']);
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

interface Opened extends ImportedSystem {
  readonly variables?: Readonly<Record<string, string>>;
}

function sourceOf(name: string, plugin: JsonObject): Opened | undefined {
  if (baseOf(name, plugin) === 'csv') return { kind: 'files', address: '' };
  return databaseOf(name, plugin);
}

function targetOf(name: string, plugin: JsonObject): Opened | undefined {
  if (['jsonl', 'csv', 'parquet'].includes(baseOf(name, plugin)))
    return { kind: 'files', address: '' };
  return databaseOf(name, plugin);
}

/** `postgres` of `tap-postgres`, or of a plugin that inherits from it. */
function baseOf(name: string, plugin: JsonObject): string {
  const base = typeof plugin['inherit_from'] === 'string' ? plugin['inherit_from'] : name;
  return base.replace(/^(?:tap|target)-/, '');
}

/** Addresses come from the variables that Meltano reads for the same settings. */
function databaseOf(name: string, plugin: JsonObject): Opened | undefined {
  const kind = kindOf(baseOf(name, plugin));
  const config = mappingAt(plugin, 'config');
  if (kind === undefined || kind === 'files') return undefined;
  if (kind === 'sqlite' || kind === 'duckdb') {
    const file = config['database'] ?? config['path_to_db'] ?? config['filepath'] ?? config['path'];
    return { kind, address: typeof file === 'string' ? tokens(file) : '' };
  }
  const prefix = name.toUpperCase().replaceAll('-', '_');
  const part = (field: string, fallback?: string): string => {
    const value = config[field];
    if (value != null && field !== 'password') return tokens(textOf(value));
    return fallback ?? `\${env:${prefix}_${field.toUpperCase()}}`;
  };
  if (config['sqlalchemy_url'] !== undefined) {
    const variable = `${prefix}_SQLALCHEMY_URL`;
    return {
      kind,
      address: `\${env:${variable}}`,
      variables: { [variable]: `${kind}://USER:PASSWORD@HOST/DATABASE` },
    };
  }
  const port = part('port', kind === 'mysql' ? '3306' : '5432');
  const database =
    config['database'] === undefined && config['dbname'] !== undefined
      ? part('dbname')
      : part('database');
  return {
    kind,
    address: `${kind}://${part('user')}:${part('password')}@${part('host', 'localhost')}:${port}/${database}`,
    ...(kind === 'mongodb' ? { database } : {}),
    variables: { [`${prefix}_PASSWORD`]: `the password of ${name}` },
  };
}

/** `$NAME` and `${NAME}` of Meltano are variables of the environment. */
function tokens(text: string): string {
  return text.replaceAll(/\$\{?([A-Z_][A-Z0-9_]*)\}?/g, '$${env:$1}');
}

function moveOf(
  { name, cron, extractor, loader }: Pair,
  tap: JsonObject,
  { from, to, states }: { from: Opened; to: Opened; states: MeltanoInput['states'] },
): ImportedMove {
  const state = stateOf(states, `${extractor}-to-${loader}`);
  const notes: string[] = [];
  const streams = from.kind === 'files' ? filesOf(tap, to) : tablesOf(tap, { to, state, notes });
  return {
    name,
    from,
    to,
    streams,
    cron,
    notes,
    variables: { ...from.variables, ...to.variables },
  };
}

/** That of the default environment, or of any. */
function stateOf(states: MeltanoInput['states'], suffix: string): JsonObject {
  const id = Object.keys(states).find((one) => one === suffix || one.endsWith(`:${suffix}`));
  const state = id === undefined ? {} : (states[id] ?? {});
  const singer = mappingAt(state, 'singer_state');
  return mappingAt(Object.keys(singer).length > 0 ? singer : state, 'bookmarks');
}

function filesOf(tap: JsonObject, to: ImportedSystem): readonly ImportedStream[] {
  return listOf(mappingAt(tap, 'config')['files'])
    .filter(isObject)
    .map((file): ImportedStream => {
      const name = textOf(file['entity'], 'records');
      const key = listOf(file['keys']).map((one) => textOf(one));
      const { delimiter } = file;
      return {
        name,
        reads: {
          path: tokens(textOf(file['path'])),
          ...(typeof delimiter === 'string' ? { delimiter } : {}),
        },
        writes: placeOf(name, to),
        mode: key.length > 0 && to.kind !== 'files' ? 'upsert' : 'overwrite',
        key,
        cursor: undefined,
      };
    });
}

function tablesOf(
  tap: JsonObject,
  { to, state, notes }: { to: ImportedSystem; state: JsonObject; notes: string[] },
): readonly ImportedStream[] {
  const streams: ImportedStream[] = [];
  const chosen = listOf(tap['select']).filter((one) => typeof one === 'string');
  for (const [stream, fields] of Map.groupBy(
    chosen,
    (one) => one.replace(/^!/, '').split('.')[0] ?? '',
  )) {
    if (fields.every((one) => one.startsWith('!'))) continue;
    if (stream.includes('*')) {
      notes.push(
        `\`${stream}\` stands for many tables: \`headgate discover\` writes a row for each`,
      );
      continue;
    }
    const meta = mappingAt(tap, 'metadata', stream);
    const method = meta['replication-method'];
    if (method === 'LOG_BASED')
      notes.push(
        `${stream} was read from the log: \`postgres-cdc\` with \`replication\` does that`,
      );
    const key = listOf(meta['table-key-properties'] ?? meta['view-key-properties']).map((one) =>
      textOf(one),
    );
    const cursor = cursorOf(meta, mappingAt(state, stream));
    if (key.length === 0 && to.kind !== 'files')
      notes.push(`the key of ${stream}: give it as \`key\` with \`write_mode: upsert\``);
    streams.push({
      name: lastOf(tableOf(stream)),
      reads: { table: tableOf(stream) },
      writes: placeOf(lastOf(tableOf(stream)), to),
      mode: writeModeOf(key, cursor, to),
      key,
      cursor,
    });
    const columns = fields.map((one) => one.split('.').slice(1).join('.'));
    if (columns.some((one) => one !== '*'))
      notes.push(`fields of ${stream} that were left out: list the others in its \`query\``);
  }
  return streams;
}

function writeModeOf(
  key: readonly string[],
  cursor: Cursor | undefined,
  to: ImportedSystem,
): ImportedStream['mode'] {
  if (to.kind === 'files') return cursor === undefined ? 'overwrite' : 'append';
  if (key.length > 0) return 'upsert';
  return cursor === undefined ? 'overwrite' : 'append';
}

function cursorOf(meta: JsonObject, bookmark: JsonObject): Cursor | undefined {
  const column = bookmark['replication_key'] ?? meta['replication-key'];
  if (typeof column !== 'string' || meta['replication-method'] === 'FULL_TABLE') return undefined;
  const value = bookmark['replication_key_value'];
  const isKnown = typeof value === 'string' || typeof value === 'number';
  return { column, value: isKnown ? value : undefined };
}

/** `public-orders` of Singer is `public.orders`. */
function tableOf(stream: string): string {
  return stream.replace('-', '.');
}

function placeOf(name: string, to: ImportedSystem): string {
  return to.kind === 'files' ? `output/${name}.jsonl` : name;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

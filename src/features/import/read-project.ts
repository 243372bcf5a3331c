/** What lies at a path: a replication of sling, a project of Meltano, or a pipeline of dlt. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { openSqlite } from '../../lib/sql/sqlite.ts';
import { isObject, parseJson, type JsonObject } from '../../lib/text/json.ts';
import { importDlt } from './dlt.ts';
import { mappingAt, textOf } from './foreign-values.ts';
import type { ImportedMove } from './imported-move.ts';
import { importMeltano, isMeltano } from './meltano.ts';
import { importSling, isSling } from './sling.ts';

export interface ProjectOptions {
  /** File of sling that describes its connections. */
  readonly connections: string | undefined;
  /** Addresses that the project does not have. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export interface Project {
  readonly tool: 'sling' | 'Meltano' | 'dlt';
  readonly moves: readonly ImportedMove[];
  /** What could not be made a document at all. */
  readonly notes: readonly string[];
}

const WHAT_TO_NAME =
  'name a replication of sling (`source`, `target`, `streams`), a `meltano.yml`, or the working folder of a dlt pipeline (`~/.dlt/pipelines/NAME`)';

/** Throws `AppError` where there is nothing to import, or something is missing. */
export function readProject(place: string, options: ProjectOptions): Project {
  if (!existsSync(place))
    throw new AppError('file_unreadable', `there is no file or folder ${place}`, {
      hint: `check the path; ${WHAT_TO_NAME}`,
    });
  if (statSync(place).isDirectory()) return readFolder(place, options);
  const document = readMapping(place);
  if (isSling(document)) {
    const name = path.basename(place).replace(/\.ya?ml$/i, '');
    const connections = connectionsOf(options);
    const moves = importSling({ name, document, connections, variables: options.variables });
    return { tool: 'sling', moves, notes: [] };
  }
  if (isMeltano(document)) return readMeltano(place, document);
  throw notKnown(place);
}

function readFolder(folder: string, options: ProjectOptions): Project {
  const meltano = path.join(folder, 'meltano.yml');
  if (existsSync(meltano)) return readMeltano(meltano, readMapping(meltano));
  const state = path.join(folder, 'state.json');
  const schemas = path.join(folder, 'schemas');
  if (!existsSync(state) || !existsSync(schemas)) throw notKnown(folder);
  const moves = importDlt({
    state: readMapping(state),
    schemas: readdirSync(schemas)
      .filter((name) => name.endsWith('.schema.json'))
      .map((name) => readMapping(path.join(schemas, name))),
    from: options.from,
    to: options.to,
  });
  return { tool: 'dlt', moves, notes: [] };
}

function readMeltano(file: string, document: JsonObject): Project {
  const states = statesOf(path.join(path.dirname(file), '.meltano/meltano.db'));
  const { moves, notes } = importMeltano({ document, states });
  return { tool: 'Meltano', moves: withOwnNames(moves), notes };
}

/** Documents of one name would share their bookmarks, and be written into one file. */
function withOwnNames(moves: readonly ImportedMove[]): readonly ImportedMove[] {
  const taken = new Set<string>();
  return moves.map((move) => {
    let { name } = move;
    for (let n = 2; taken.has(fileStem(name).toLowerCase()); n += 1) name = `${move.name}-${n}`;
    taken.add(fileStem(name).toLowerCase());
    return { ...move, name };
  });
}

/** A name as a part of the name of a file. */
export function fileStem(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^[.-]+/g, '') || 'imported';
}

/** Of the database that Meltano keeps beside a project. */
function statesOf(file: string): Record<string, JsonObject> {
  if (!existsSync(file)) return {};
  const db = openSqlite(file, { mode: 'ro', cwd: '/' });
  try {
    const rows = db.prepare('SELECT state_id, completed_state FROM state').all();
    return Object.fromEntries(
      rows.map((row) => [textOf(row['state_id']), jsonOf(textOf(row['completed_state']))]),
    );
  } catch (error) {
    throw new AppError(
      'bad_import',
      `the states in ${file} cannot be read: ${fileFault(error).says}`,
      {
        hint: 'move the file away to import the project without them',
      },
    );
  } finally {
    db.close();
  }
}

function jsonOf(text: string): JsonObject {
  const value = text === '' ? {} : parseJson(text);
  return isObject(value) ? value : {};
}

function connectionsOf({ connections, cwd }: ProjectOptions): JsonObject {
  if (connections === undefined) return {};
  return mappingAt(readMapping(path.resolve(cwd, connections)), 'connections');
}

function readMapping(file: string): JsonObject {
  let value: unknown;
  try {
    const text = readFileSync(file, 'utf8');
    // Integers keep all their digits in JSON.
    value = file.endsWith('.json') ? parseJson(text) : parse(text);
  } catch (error) {
    throw new AppError('file_unreadable', `${file} cannot be read: ${fileFault(error).says}`);
  }
  return mappingAt(value);
}

function notKnown(place: string): AppError {
  return new AppError('bad_import', `${place} is of none of the tools that can be imported from`, {
    hint: WHAT_TO_NAME,
  });
}

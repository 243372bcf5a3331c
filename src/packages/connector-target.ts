/** A connector that somebody names to look at it: `npm:NAME`, or the folder of its package. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Connector } from '../kit/connector.ts';
import { badName, isPackageName, type PartFault } from '../kit/part-packages.ts';
import type { SinkFixture } from '../kit/sink-fixture.ts';
import type { SourceFixture } from '../kit/source-fixture.ts';
import { AppError, messageOf } from '../lib/errors.ts';
import { unreadableJson } from '../lib/text/unreadable-json.ts';
import {
  loadConnector,
  loadConnectorFile,
  placesOf,
  resolvePackage,
  type Places,
} from './load-connector.ts';

export interface ConnectorTarget {
  /** Name of its package. */
  readonly name: string;
  readonly connector: Connector;
  /** Throws where it has a module of fixtures that cannot be used. */
  fixtures(): ConnectorFixtures;
}

/** What the module `conformance` of the package exports. */
export interface ConnectorFixtures {
  readonly sourceFixtures: readonly SourceFixture[];
  readonly sinkFixtures: readonly SinkFixture[];
}

/** Throws `AppError` with the code of the fault. */
export function openTarget(target: string, cwd: string): ConnectorTarget {
  return target.startsWith('npm:')
    ? installed(target.slice('npm:'.length), placesOf(cwd))
    : inFolder(resolve(cwd, target), target);
}

function installed(name: string, places: Places): ConnectorTarget {
  if (!isPackageName(name)) throw errorOf(badName(name));
  const loaded = loadConnector(name, places);
  if (!loaded.ok) throw errorOf(loaded.fault);
  return { name, connector: loaded.connector, fixtures: () => fixturesOf(name, places) };
}

/** Names of a package mean its own files inside of it, where it says what it exports. */
function inFolder(folder: string, shown: string): ConnectorTarget {
  const manifest = join(folder, 'package.json');
  const where = `the folder \`${shown}\``;
  if (!existsSync(manifest))
    throw new AppError('connector_missing', `${where} has no package.json`, {
      hint: 'give the folder of a connector, or `npm:` and the name of an installed package; `headgate new connector NAME` writes one',
    });
  const { name, exports } = manifestIn(manifest, where);
  if (typeof name !== 'string' || exports === undefined)
    throw new AppError('connector_unusable', `the package.json in ${where} is incomplete`, {
      hint: 'a connector needs a `name`, and `exports` with its main module',
    });
  const entry = resolvePackage(name, [manifest]);
  if (entry.kind !== 'found')
    throw new AppError('connector_unusable', `the main module of ${where} is not there`, {
      hint: '`exports` of its package.json has to name it',
    });
  const loaded = loadConnectorFile(entry.file, where);
  if (!loaded.ok) throw errorOf(loaded.fault);
  return { name, connector: loaded.connector, fixtures: () => fixturesOf(name, [manifest]) };
}

interface Manifest {
  readonly name?: unknown;
  readonly exports?: unknown;
}

function manifestIn(file: string, where: string): Manifest {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) ?? {}) as Manifest;
  } catch (error) {
    throw new AppError(
      'connector_unusable',
      `the package.json in ${where} cannot be read: ${unreadableJson(error)}`,
      { cause: error, hint: 'correct it; `headgate new connector NAME` writes a whole one' },
    );
  }
}

function fixturesOf(name: string, places: Places): ConnectorFixtures {
  const entry = resolvePackage(`${name}/conformance`, places);
  if (entry.kind !== 'found') return { sourceFixtures: [], sinkFixtures: [] };
  let module: Partial<Record<keyof ConnectorFixtures, unknown>>;
  try {
    module = createRequire(entry.file)(entry.file) as typeof module;
  } catch (error) {
    throw unusableFixtures(
      `the fixtures of \`${name}\` cannot be loaded: ${messageOf(error)}`,
      error,
    );
  }
  const listed = (of: keyof ConnectorFixtures): readonly unknown[] => {
    const { [of]: list = [] } = module;
    if (Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null))
      return list;
    throw unusableFixtures(`in the fixtures of \`${name}\`, \`${of}\` is no list of fixtures`);
  };
  return {
    sourceFixtures: listed('sourceFixtures') as readonly SourceFixture[],
    sinkFixtures: listed('sinkFixtures') as readonly SinkFixture[],
  };
}

function unusableFixtures(message: string, cause?: unknown): AppError {
  return new AppError('connector_unusable', message, {
    cause,
    hint: 'the module `conformance` of the package exports `sourceFixtures` and `sinkFixtures`, as in what `headgate new connector NAME` writes',
  });
}

function errorOf({ code, message, hint }: PartFault): AppError {
  return new AppError(code, message, { hint });
}

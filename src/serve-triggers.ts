/** The file of triggers of a server: read at the start, and again on request. */
import { availableParallelism } from 'node:os';
import { canonicalPaths, localFiles } from './document/text/local-file.ts';
import type { SettingsFile } from './features/reload/reload.ts';
import { loadTriggers, type LoadedTriggers } from './features/triggers/load-triggers.ts';
import type { Triggers } from './features/triggers/triggers.ts';
import type { Access } from './lib/access.ts';
import type { Env } from './lib/env.ts';
import { parseJson, type JsonObject } from './lib/text/json.ts';
import { findVariable, VARIABLES } from './lib/variables.ts';
import type { Parts } from './kit/parts.ts';
import type { BaseDocument } from './runs/service/prepared.ts';
import { TRIGGERS } from './triggers/index.ts';

export interface TriggerSurroundings {
  readonly env: Env;
  readonly access: Access;
  readonly parts: Parts;
  /** What documents are merged over. */
  readonly base: () => BaseDocument | undefined;
}

export function readTriggers(path: string, surroundings: TriggerSurroundings): LoadedTriggers {
  const { env, access, base, parts } = surroundings;
  const profile = findVariable(VARIABLES.profile, env.variables)?.text;
  const under = base();
  return loadTriggers(path, {
    definitions: TRIGGERS,
    parts,
    cpus: availableParallelism(),
    variableAccess: access.variables,
    reading: {
      variables: env.variables,
      redactor: env.redactor,
      readFile: localFiles(env.cwd),
      canonicalPath: canonicalPaths(env.cwd),
      secretManagers: parts.secrets,
      ...(under === undefined ? {} : { base: parseJson(under.content) as JsonObject }),
      ...(profile === undefined || profile === '' ? {} : { profile }),
    },
  });
}

export function triggersFile(
  path: string,
  triggers: Pick<Triggers, 'replace'>,
  surroundings: TriggerSurroundings,
): SettingsFile {
  return {
    path,
    load: async () => {
      const loaded = readTriggers(path, surroundings);
      return () => triggers.replace(loaded);
    },
  };
}

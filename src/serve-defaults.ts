/** The document that submissions are merged over: read at the start, and again on request. */
import { hash } from 'node:crypto';
import { GRAMMAR } from './blocks/index.ts';
import { refuseFaultyBase } from './document/parse/lasting-faults.ts';
import { secretAsker } from './document/tokens/ask-secrets.ts';
import { composeFile, loadFileWithSecrets } from './document/load.ts';
import { localFiles } from './document/text/local-file.ts';
import type { SettingsFile } from './features/reload/reload.ts';
import type { Access } from './lib/access.ts';
import type { Env } from './lib/env.ts';
import { stringifyJson } from './lib/text/json.ts';
import { findVariable, VARIABLES } from './lib/variables.ts';
import { parts } from './parts.ts';
import type { BaseDocument } from './runs/service/prepared.ts';

interface Defaults {
  readonly now: () => BaseDocument;
  readonly file: SettingsFile;
}

export async function openDefaults(path: string, env: Env, access: Access): Promise<Defaults> {
  let now = await openBase(path, env, access);
  return {
    now: () => now,
    file: {
      path,
      load: async () => {
        const next = await openBase(path, env, access);
        return () => {
          now = next;
        };
      },
    },
  };
}

/**
 * The default document, composed and not resolved: whoever executes a run resolves it. One that
 * cannot be resolved now, or that would make every submission invalid, is refused.
 */
async function openBase(path: string, env: Env, access: Access): Promise<BaseDocument> {
  const profile = findVariable(VARIABLES.profile, env.variables)?.text;
  const loading = {
    variables: env.variables,
    variableAccess: access.variables,
    publicNames: true,
    redactor: env.redactor,
    readFile: localFiles(env.cwd),
    secretManagers: parts.secrets,
    ...(profile === undefined || profile === '' ? {} : { profile }),
  };
  const ask = secretAsker({ managers: parts.secrets, env });
  refuseFaultyBase(await loadFileWithSecrets(path, loading, ask), GRAMMAR);
  const content = stringifyJson(composeFile(path, loading).tree);
  return { content, hash: hash('sha256', content) };
}

/** The folder of schedules of a server: read at the start, and again on request. */
import { composeFile } from './document/load.ts';
import { canonicalPaths, localFiles } from './document/text/local-file.ts';
import type { SettingsFile } from './features/reload/reload.ts';
import {
  documentsOfFolder,
  loadFolder,
  type DocumentServices,
  type LoadedDocument,
} from './features/schedule/server/documents.ts';
import type { ScheduleService } from './features/schedule/server/schedules.ts';
import type { Env } from './lib/env.ts';
import { findVariable, VARIABLES } from './lib/variables.ts';

export interface ScheduleSurroundings extends DocumentServices {
  readonly env: Env;
}

export async function readSchedules(
  folder: string | undefined,
  { env, ...services }: ScheduleSurroundings,
): Promise<readonly LoadedDocument[]> {
  if (folder === undefined) return [];
  const profile = findVariable(VARIABLES.profile, env.variables)?.text;
  const loading = {
    readFile: localFiles(env.cwd),
    canonicalPath: canonicalPaths(env.cwd),
    ...(profile === undefined || profile === '' ? {} : { profile }),
  };
  const documents = documentsOfFolder(folder, (path) => composeFile(path, loading));
  return loadFolder(documents, services);
}

export function schedulesFolder(
  folder: string,
  schedules: Pick<ScheduleService, 'setFolder'>,
  surroundings: ScheduleSurroundings,
): SettingsFile {
  return {
    path: folder,
    load: async () => {
      const documents = await readSchedules(folder, surroundings);
      return () => schedules.setFolder(documents);
    },
  };
}

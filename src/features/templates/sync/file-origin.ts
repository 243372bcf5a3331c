import { join } from 'node:path';
import { filesOfFolder, writeToFolder } from './folder.ts';
import type { Origin } from './origin.ts';
import type { OriginSettings } from './origins-file.ts';

/** A folder of this machine. */
export function fileOrigin(settings: OriginSettings, folder: string): Origin {
  return {
    settings,
    pull: (signal) => filesOfFolder(folder, signal),
    publish: async (files) => {
      await writeToFolder(folder, files);
      return join(folder, files[0]?.name ?? '');
    },
  };
}

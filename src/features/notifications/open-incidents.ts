/**
 * Which incidents are open, in files that other processes find: one that failed under `cron` is
 * resolved by the success of the next process. There is one file an incident, named by a hash.
 */
import { hash } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChannelMessage } from '../../kit/channel.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import type { Variables } from '../../lib/variables.ts';

export interface OpenIncidents {
  has(id: string): Promise<boolean>;
  /** `about` is what a person who finds the file reads. */
  add(id: string, about: { readonly pipeline: string; readonly row: string }): Promise<void>;
  remove(id: string): Promise<void>;
}

/**
 * The same for whoever sends the same request to resolve it: rules and documents may be renamed
 * between a failure and the next success.
 */
export function incidentId({ url, body }: Pick<ChannelMessage, 'url' | 'body'>): string {
  return hash('sha256', `${url}\n${body}`);
}

/** Where programs keep such things (XDG); `undefined` when the user has no folder. */
export function incidentsFolder(variables: Variables): string | undefined {
  const { XDG_STATE_HOME: chosen, HOME: home } = variables;
  if (chosen !== undefined && chosen !== '') return join(chosen, 'headgate', 'incidents');
  return home === undefined || home === ''
    ? undefined
    : join(home, '.local', 'state', 'headgate', 'incidents');
}

const NONE: OpenIncidents = {
  has: async () => false,
  add: async () => {},
  remove: async () => {},
};

export function openIncidents(folder: string | undefined): OpenIncidents {
  if (folder === undefined) return NONE;
  const pathOf = (id: string): string => join(folder, `${id}.json`);
  return {
    has: (id) =>
      stat(pathOf(id)).then(
        () => true,
        () => false,
      ),
    async add(id, { pipeline, row }) {
      await makeFolder(folder);
      await writeFile(pathOf(id), JSON.stringify({ pipeline, row }), { mode: 0o600 });
    },
    remove: (id) => rm(pathOf(id), { force: true }),
  };
}

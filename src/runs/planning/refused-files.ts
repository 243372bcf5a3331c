/** Paths of a document that this process may not open, told before a run meets them. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withPlaces, type Locate } from '../../document/text/locate.ts';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { FileRefusedError, filesRoot, permittedFile } from '../../lib/files/file-access.ts';
import { localAddress } from '../../lib/http/local-address.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Plan, PlannedRow, PlannedSink, PlannedSource } from '../../plan/plan.ts';

/**
 * Throws `ConfigError`. Without `--data-root` nothing is asked; what depends on run-time tokens is
 * checked when it is opened, as every file is.
 */
export function refuseFiles({ rows, fanOuts }: Plan, cwd: string, locate: Locate): void {
  if (filesRoot() === undefined) return;
  const named = [...rows.flatMap(filesOf), ...fanOuts.flatMap(({ source }) => fileOf(source))];
  const issues = new Map<string, Issue>();
  for (const { path, file } of named) {
    const issue = refusalOf(path, file, cwd);
    if (issue !== undefined) issues.set(path, issue);
  }
  if (issues.size > 0) throw new ConfigError(withPlaces([...issues.values()], locate));
}

interface NamedFile {
  readonly path: string;
  readonly file: string;
}

function filesOf({ source, sink, dlq, state }: PlannedRow): NamedFile[] {
  const letters = dlq === undefined ? [] : fileOf(dlq.sink);
  const folder = state?.type === 'file' ? state.config['path'] : undefined;
  return [
    ...fileOf(source),
    ...fileOf(sink),
    ...letters,
    ...(state === undefined || typeof folder !== 'string'
      ? []
      : [{ path: joinPath(state.path, 'config', 'path'), file: folder }]),
  ];
}

/** The local file of a data set; the setting that names it is the one that the address ends with. */
function fileOf({
  path,
  config,
  deferred,
  parsed,
  definition,
}: PlannedSource | PlannedSink): NamedFile[] {
  if (deferred) return [];
  const local = localAddress(definition.datasetUri(parsed) ?? '');
  if (local === undefined) return [];
  const cut = local.scheme === 'file' ? -1 : local.rest.indexOf('?');
  const file = cut === -1 ? local.rest : local.rest.slice(0, cut);
  if (file === '' || file.startsWith(':')) return [];
  const [setting] = Object.entries(config).find(
    ([, value]) => typeof value === 'string' && value.includes(file),
  ) ?? ['path'];
  return [{ path: joinPath(path, 'config', setting), file }];
}

function refusalOf(path: string, file: string, cwd: string): Issue | undefined {
  if (file.includes('${')) return undefined;
  try {
    permittedFile(resolve(cwd, file.startsWith('file://') ? fileURLToPath(file) : file));
    return undefined;
  } catch (error) {
    if (!(error instanceof FileRefusedError)) throw error;
    const { message, hint } = error;
    return { code: 'file_refused', path, message, ...(hint === undefined ? {} : { hint }) };
  }
}

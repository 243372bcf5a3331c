/** Reads the settings files of a running server again: all of them, or none. */
import type { Env } from '../../lib/env.ts';
import { AppError, ConfigError, RefusedError, type Issue } from '../../lib/errors.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Caller } from '../../runs/service/runs.ts';
import type { ReloadReport } from '../../wire/reload.ts';

/** A file that was read at the start. */
export interface SettingsFile {
  readonly path: string;
  /**
   * Reads and checks it; nothing changes before the returned function is called. Throws `AppError`.
   */
  load(): Promise<() => void>;
}

export interface ReloadOptions {
  readonly env: Pick<Env, 'log'>;
  readonly audit: Pick<Audit, 'record'>;
  /** The document that submissions are merged over. */
  readonly defaultConfig?: SettingsFile;
  /** The file of principals. */
  readonly auth?: SettingsFile;
  /** The file of triggers. */
  readonly triggers?: SettingsFile;
  /** The folder of schedules. */
  readonly schedules?: SettingsFile;
}

/**
 * Rejects with `ConfigError` or `RefusedError` (422) that names every fault of every file; then all
 * of them stay as they were. Runs in progress keep what they were started with.
 */
export type Reload = (caller: Caller) => Promise<ReloadReport>;

export function createReload(options: ReloadOptions): Reload {
  let last: Promise<unknown> = Promise.resolve();
  return (caller) => {
    const reloading = last.then(() => reload(options, caller));
    last = reloading.catch(() => {});
    return reloading;
  };
}

async function reload(
  { env, audit, defaultConfig, auth, triggers, schedules }: ReloadOptions,
  caller: Caller,
): Promise<ReloadReport> {
  const record = (result: string): Promise<void> =>
    audit.record({ ...actionOf(caller, 'config.reload'), result });
  const files = [defaultConfig, auth, triggers, schedules].filter((file) => file !== undefined);
  const log = env.log.at('headgate::reload');
  try {
    const changes = await loadAll(files);
    for (const change of changes) change();
  } catch (error) {
    log.error('the settings files were not read again; those before stay in use', {
      error: error instanceof Error ? error.message : String(error),
    });
    await record('rejected');
    throw error;
  }
  for (const { path } of files) log.info('a settings file was read again', { path });
  await record(files.length === 0 ? 'noop' : 'ok');
  return {
    ...(defaultConfig === undefined
      ? { reloaded: false, reason: 'the server was started without --default-config' }
      : { reloaded: true, path: defaultConfig.path }),
    ...(auth === undefined ? {} : { auth: { reloaded: true as const, path: auth.path } }),
    ...(triggers === undefined
      ? {}
      : { triggers: { reloaded: true as const, path: triggers.path } }),
    ...(schedules === undefined
      ? {}
      : { schedules: { reloaded: true as const, path: schedules.path } }),
  };
}

async function loadAll(files: readonly SettingsFile[]): Promise<readonly (() => void)[]> {
  const loaded = await Promise.allSettled(files.map((file) => file.load()));
  const failures = loaded.flatMap((one) =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  );
  if (failures.length > 0) throw refusalOf(failures);
  return loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

/** One error for all files; a fault of ours is passed on as it is. */
function refusalOf(failures: readonly unknown[]): unknown {
  const bug = failures.find((failure) => !(failure instanceof AppError));
  if (bug !== undefined) return bug;
  const issues = failures.flatMap((failure) =>
    failure instanceof ConfigError ? failure.issues : [issueOf(failure as AppError)],
  );
  if (failures.some((failure) => failure instanceof ConfigError))
    return new ConfigError(issues, { stage: 'validate' });
  const message = issues.map((issue) => issue.message).join('; ');
  const hint = issues.find((issue) => issue.hint !== undefined)?.hint;
  return new RefusedError('unprocessable', message, hint === undefined ? {} : { hint });
}

function issueOf({ code, message, hint }: AppError): Issue {
  return { code, path: '', message, ...(hint === undefined ? {} : { hint }) };
}

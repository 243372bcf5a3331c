/** Keeps the registry as its origins are: at the start, in intervals and on request. */
import { extname, join } from 'node:path';
import type { Env } from '../../../lib/env.ts';
import { adviceOf, RefusedError } from '../../../lib/errors.ts';
import { actionOf, type Audit } from '../../../runs/service/audit.ts';
import type { Caller } from '../../../runs/service/runs.ts';
import type {
  PublishReceipt,
  SyncOrigin,
  SyncOutcome,
  SyncPlanItem,
  SyncReport,
  SyncResult,
} from '../../../wire/templates.ts';
import type { Templates } from '../templates.ts';
import { fileOrigin } from './file-origin.ts';
import { gitOrigin } from './git-origin.ts';
import { syncLast, syncMutations, syncRuns } from './metrics.ts';
import type { Origin, OriginFile, UnreadFile } from './origin.ts';
import { readOriginsFile, type OriginSettings } from './origins-file.ts';
import { goneFrom, idIn, planSync, type PlannedItem } from './plan-sync.ts';

export interface TemplateSync {
  readonly origins: readonly SyncOrigin[];
  /** Rejects with 422 when there are no origins, or none of this name. */
  sync(
    request: {
      readonly origin?: string | null | undefined;
      readonly dry_run?: boolean | null | undefined;
    },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<SyncResult>;
  /** Writes one version back to an origin. */
  publish(
    id: string,
    request: { readonly origin: string; readonly version?: string | number | null | undefined },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<PublishReceipt>;
  /** Pulls all origins, and again in their intervals. A pull that fails is only logged. */
  begin(): void;
  close(): Promise<void>;
}

export interface TemplateSyncOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics' | 'fetch' | 'variables' | 'redactor'>;
  /** The file of origins; undefined: there are none. */
  readonly file: string | undefined;
  /** Clones of repositories lie below it. */
  readonly dataDir: string;
  readonly templates: Templates;
  readonly audit: Pick<Audit, 'record'>;
}

/** Throws `ConfigError` or `AppError` for a file that cannot be used. */
export function createTemplateSync(options: TemplateSyncOptions): TemplateSync {
  const settings = options.file === undefined ? [] : readOriginsFile(options.file);
  return new Syncing(
    options,
    settings.map((one) => openOrigin(one, options)),
  );
}

function openOrigin(settings: OriginSettings, { env, dataDir }: TemplateSyncOptions): Origin {
  const { source, name } = settings;
  if (source.type === 'file') return fileOrigin(settings, source.config.path);
  const folder = join(dataDir, 'template-origins', encodeURIComponent(name));
  return gitOrigin({ env, settings, git: source.config, folder });
}

class Syncing implements TemplateSync {
  readonly #options: TemplateSyncOptions;
  readonly #origins: readonly Origin[];
  readonly #closing = new AbortController();
  /** One at a time for each origin: a clone has one work tree. None waits for another one. */
  readonly #last = new Map<Origin, Promise<unknown>>();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: TemplateSyncOptions, origins: readonly Origin[]) {
    this.#options = options;
    this.#origins = origins;
  }

  get origins(): readonly SyncOrigin[] {
    return this.#origins.map(({ settings }) => {
      const { name, source, prefix, launch, prune, interval_secs } = settings;
      const interval = interval_secs === undefined ? {} : { interval_secs };
      return { name, kind: source.type, prefix, launch, prune, ...interval };
    });
  }

  async sync(
    { origin: name, dry_run }: Parameters<TemplateSync['sync']>[0],
    caller: Caller,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const chosen = name == null ? this.#required() : [this.#named(name)];
    const isDry = dry_run === true;
    const ends = await Promise.allSettled(
      chosen.map((origin) =>
        this.#oneByOne(origin, () => this.#syncOne(origin, { caller, isDry, signal })),
      ),
    );
    const reports = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    const errors = chosen.flatMap(({ settings }, index) => {
      const end = ends[index];
      return end?.status === 'rejected'
        ? [{ origin: settings.name, error: this.#redacted(end.reason) }]
        : [];
    });
    const what = `origins=${chosen.length} failed=${errors.length}${isDry ? ' dry_run' : ''}`;
    await this.#options.audit.record({ ...actionOf(caller, 'template.sync'), result: what });
    return { dry_run: isDry, reports, origin_errors: errors };
  }

  async publish(
    id: string,
    { origin: name, version }: Parameters<TemplateSync['publish']>[1],
    caller: Caller,
    signal: AbortSignal,
  ): Promise<PublishReceipt> {
    const origin = this.#named(name);
    const { templates, audit } = this.#options;
    const found = await templates.get(id, version ?? undefined);
    const { prefix } = origin.settings;
    if (!id.startsWith(prefix))
      throw new RefusedError(
        'unprocessable',
        `the id \`${id}\` does not begin with \`${prefix}\`, the prefix of the origin ${name}`,
      );
    const published = await this.#oneByOne(origin, async () => {
      const files = await origin.pull(signal).catch(asUnavailable);
      const file = fileFor(id, prefix, { files, format: found.format });
      const about = {
        message: `${id} version ${found.version}`,
        author: caller.principal,
        signal,
      };
      const location = await origin.publish(written(file, found), about).catch(asUnavailable);
      return { file, location };
    });
    await audit.record({
      ...actionOf(caller, 'template.publish'),
      result: `${id} version=${found.version} origin=${name}`,
    });
    const { file, location } = published;
    return { id, version: found.version, origin: name, name: file, location };
  }

  begin(): void {
    this.#loops = Promise.all(this.#origins.map((origin) => this.#keep(origin)));
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the server is closing'));
    await this.#loops;
    await Promise.all(this.#last.values());
  }

  async #keep(origin: Origin): Promise<void> {
    const { signal } = this.#closing;
    const { clock, log } = this.#options.env;
    const { name, interval_secs: secs } = origin.settings;
    const caller: Caller = { principal: `sync:${name}`, role: 'admin' };
    for (;;) {
      const pull = () => this.#syncOne(origin, { caller, isDry: false, signal });
      await this.#oneByOne(origin, pull).catch((error: unknown) => {
        if (!signal.aborted)
          log.warn('an origin of templates could not be read', {
            origin: name,
            error: this.#redacted(error),
          });
      });
      if (secs === undefined || signal.aborted) return;
      await clock.sleep(secs * 1000, signal);
      if (signal.aborted) return;
    }
  }

  #oneByOne<T>(origin: Origin, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(origin) ?? Promise.resolve()).then(work);
    this.#last.set(
      origin,
      done.catch(() => {}),
    );
    return done;
  }

  async #syncOne(
    origin: Origin,
    { caller, isDry, signal }: { caller: Caller; isDry: boolean; signal: AbortSignal },
  ): Promise<SyncReport> {
    const { metrics, clock } = this.#options.env;
    const { settings } = origin;
    const labels = { origin: settings.name };
    try {
      const files = await origin.pull(signal);
      const items = await planSync(settings, files, this.#options.templates);
      const report = {
        origin: settings.name,
        kind: settings.source.type,
        dry_run: isDry,
        warnings: files.length === 0 ? ['the origin has no templates'] : [],
        plan: items.map(shownItem),
      };
      if (isDry) return report;
      const outcome = await this.#carryOut(items, settings, { caller, signal });
      const mutations =
        outcome.registered.length +
        outcome.launched.length +
        outcome.revived.length +
        outcome.deprecated.length;
      if (mutations > 0) metrics.inc(syncMutations, labels, mutations);
      metrics.set(syncLast, labels, Math.floor(clock.now().getTime() / 1000));
      const isWhole = outcome.failed.length + outcome.skipped.length === 0;
      metrics.inc(syncRuns, { ...labels, outcome: isWhole ? 'ok' : 'partial' });
      return { ...report, outcome };
    } catch (error) {
      if (!isDry) metrics.inc(syncRuns, { ...labels, outcome: 'error' });
      throw error;
    }
  }

  async #carryOut(
    items: readonly PlannedItem[],
    { name }: OriginSettings,
    by: { readonly caller: Caller; readonly signal: AbortSignal },
  ): Promise<SyncOutcome> {
    const done: SyncOutcome = {
      registered: [],
      launched: [],
      revived: [],
      deprecated: [],
      unchanged: 0,
      orphaned: [],
      skipped: [],
      failed: [],
    };
    for (const item of items) {
      try {
        await this.#carryOutOne(item, { ...by, done, reason: goneFrom(name) });
      } catch (error) {
        by.signal.throwIfAborted();
        done.failed.push({ id: item.id ?? '', error: this.#redacted(error) });
      }
    }
    return done;
  }

  async #carryOutOne(
    item: PlannedItem,
    {
      caller,
      signal,
      done,
      reason,
    }: { caller: Caller; signal: AbortSignal; done: SyncOutcome; reason: string },
  ): Promise<void> {
    const { templates } = this.#options;
    const { id = '', name = '', version = 0 } = item;
    switch (item.action) {
      case 'register': {
        if (item.text === undefined) return;
        const { body: config, format: config_format } = item.text;
        const { launch = false, description, tags } = item;
        const request = { id, config, config_format, launch, description, tags };
        const registered = await templates.register(request, caller, signal);
        done.registered.push({ id, version: registered.version, launched: launch });
        return;
      }
      case 'launch':
        await templates.launch(id, version, caller);
        done.launched.push({ id, version });
        return;
      case 'revive':
        await templates.deprecate(id, { reason: undefined, undo: true }, caller);
        done.revived.push(id);
        return;
      case 'deprecate':
        await templates.deprecate(id, { reason, undo: false }, caller);
        done.deprecated.push(id);
        return;
      case 'unchanged':
        done.unchanged += 1;
        return;
      case 'orphaned':
        done.orphaned.push(id);
        return;
      case 'skipped':
        done.skipped.push([name, item.reason ?? '']);
        return;
      default:
        item.action satisfies never;
    }
  }

  #required(): readonly Origin[] {
    if (this.#origins.length > 0) return this.#origins;
    throw new RefusedError(
      'unprocessable',
      'the server has no origins of templates: it was started without --templates-sync',
    );
  }

  #named(name: string): Origin {
    const origin = this.#required().find(({ settings }) => settings.name === name);
    if (origin !== undefined) return origin;
    const known = this.#origins.map(({ settings }) => settings.name).join(', ');
    throw new RefusedError('unprocessable', `there is no origin \`${name}\``, {
      hint: `origins: ${known}`,
    });
  }

  #redacted(error: unknown): string {
    return this.#options.env.redactor.text(adviceOf(error));
  }
}

function shownItem(planned: PlannedItem): SyncPlanItem {
  const { text: _, ...item } = planned;
  return item;
}

/** Where the origin has the template, or a file named after its id. */
function fileFor(
  id: string,
  prefix: string,
  {
    files,
    format,
  }: { readonly files: readonly (OriginFile | UnreadFile)[]; readonly format: 'yaml' | 'json' },
): string {
  const known = files.find((file) => {
    if ('fault' in file) return false;
    try {
      return file.text.format === format && idIn(prefix, file) === id;
    } catch {
      return false;
    }
  });
  return known?.name ?? `${id.slice(prefix.length) || id}.${format}`;
}

function written(
  name: string,
  { body, description, tags, version }: Awaited<ReturnType<Templates['get']>>,
): { readonly name: string; readonly content: string }[] {
  const channels = Object.entries(tags)
    .filter(([, tagged]) => tagged === version)
    .map(([tag]) => tag);
  const about = {
    ...(description === undefined ? {} : { description }),
    ...(channels.length === 0 ? {} : { tags: channels }),
  };
  const files = [{ name, content: body }];
  if (Object.keys(about).length === 0) return files;
  const beside = `${name.slice(0, -extname(name).length)}.svc.yaml`;
  // JSON is YAML.
  return [...files, { name: beside, content: `${JSON.stringify(about, null, 2)}\n` }];
}

function asUnavailable(error: unknown): never {
  throw new RefusedError('unavailable', `the origin cannot be used: ${adviceOf(error)}`, {
    cause: error,
  });
}

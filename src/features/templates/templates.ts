/** The registry of templates: registered, versioned, released, and run. */
import type {
  TemplateQuery,
  TemplateState,
  TemplateStore,
  TemplateVersion,
} from '../../history/templates.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { BaseDocument } from '../../runs/service/prepared.ts';
import type { Caller, Runs } from '../../runs/service/runs.ts';
import type {
  LaunchResult,
  RegisterTemplate,
  RunTemplate,
  TemplateDetail,
  TemplateMatrix,
  TemplateRun,
  TemplateSummary,
} from '../../wire/templates.ts';
import { readAssignable, readSelector, type AssignableChannel } from './channels.ts';
import { checkId } from './ids.ts';
import { presentDetail, presentSummary } from './present.ts';
import {
  deprecated,
  launched,
  newestOf,
  previousOf,
  revived,
  stableOf,
  statusOf,
  tagged,
  versionDeprecated,
  versionFor,
  versionRevived,
  withoutVersion,
  withVersion,
  type Act,
  type TemplateStatus,
} from './release.ts';
import {
  chooseDocument,
  runTemplate,
  type ChosenDocument,
  type FoundVersion,
  type RunTemplateHow,
} from './run-template.ts';
import { checkTemplateJob, templateMatrixJob, type CheckedTemplate } from './template-jobs.ts';

type Selector = string | number | null | undefined;

export interface TemplatePage {
  readonly templates: readonly TemplateSummary[];
  readonly more: boolean;
}

export interface Deprecating {
  readonly reason: string | undefined;
  readonly undo: boolean;
}

/**
 * Methods reject with `RefusedError`: 404 for an unknown template or version, 422 for what the
 * release rules refuse; and with `ConfigError` for a document that cannot be registered or run.
 */
export interface Templates {
  register(
    request: RegisterTemplate,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<TemplateSummary>;
  list(kind: string | undefined): Promise<readonly TemplateSummary[]>;
  /** The same in pages. */
  page(query: TemplateQuery & { readonly limit: number }): Promise<TemplatePage>;
  get(id: string, version: Selector): Promise<TemplateDetail>;
  /** Without a version all of them. */
  delete(id: string, version: Selector, caller: Caller): Promise<void>;
  launch(id: string, version: Selector, caller: Caller): Promise<LaunchResult>;
  rollBack(id: string, caller: Caller): Promise<LaunchResult>;
  tag(
    id: string,
    request: { readonly tag: string; readonly version: Selector },
    caller: Caller,
  ): Promise<{ readonly id: string; readonly tag: string; readonly version: number }>;
  deprecate(
    id: string,
    request: Deprecating,
    caller: Caller,
  ): Promise<{ readonly id: string; readonly status: TemplateStatus }>;
  deprecateVersion(
    place: { readonly id: string; readonly version: string },
    request: Deprecating,
    caller: Caller,
  ): Promise<{ readonly id: string; readonly version: number; readonly deprecated: boolean }>;
  run(
    id: string,
    request: RunTemplate,
    caller: Caller,
    signal: AbortSignal,
    how?: RunTemplateHow,
  ): Promise<TemplateRun>;
  /** The document of a run, for whoever executes it himself. */
  choose(id: string, request: RunTemplate, signal: AbortSignal): Promise<ChosenDocument>;
  matrix(signal: AbortSignal): Promise<TemplateMatrix>;
  /** The launched versions that have a schedule. */
  scheduled(): Promise<readonly TemplateVersion[]>;
}

export interface TemplatesOptions {
  readonly env: Pick<Env, 'clock'>;
  readonly store: TemplateStore;
  readonly jobs: Jobs;
  readonly runs: Pick<Runs, 'submit'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly base?: () => BaseDocument | undefined;
  /** Called after every change. */
  readonly onChanged?: () => void;
}

/** A change that others keep making first. */
const MOST_ATTEMPTS = 50;

export function createTemplates(options: TemplatesOptions): Templates {
  return new Registry(options);
}

class Registry implements Templates {
  readonly #options: TemplatesOptions;

  constructor(options: TemplatesOptions) {
    this.#options = options;
  }

  async register(
    request: RegisterTemplate,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<TemplateSummary> {
    const { jobs, base } = this.#options;
    const { config: body, config_format: format } = request;
    const tags = (request.tags ?? []).map(readAssignable);
    const checked = await jobs.run(
      checkTemplateJob,
      { kind: 'check_template', template: { body, format }, base: base?.()?.content ?? null },
      { signal },
    );
    const id = checkId(request.id ?? undefined, checked);
    const registered = await this.#register({ id, request, checked, tags }, caller);
    await this.#audit(caller, 'template.register');
    if (request.launch === true) await this.#audit(caller, 'template.launch');
    return registered;
  }

  #register(
    {
      id,
      request,
      checked,
      tags,
    }: {
      readonly id: string;
      readonly request: RegisterTemplate;
      readonly checked: CheckedTemplate;
      readonly tags: readonly AssignableChannel[];
    },
    caller: Caller,
  ): Promise<TemplateSummary> {
    return this.#retry(async () => {
      const { store } = this.#options;
      const before = await store.getTemplate(id);
      refuseOtherKind(before, checked);
      const act = this.#act(caller);
      const version: TemplateVersion = {
        id,
        version: before?.next_version ?? 1,
        kind: checked.kind,
        name: checked.name,
        description: request.description ?? checked.description ?? (await this.#described(before)),
        body: request.config,
        format: request.config_format,
        params: checked.params,
        is_scheduled: checked.is_scheduled,
        created_at: act.at,
        created_by: caller.principal,
      };
      const added = withVersion(before, { version, tags });
      const after = request.launch === true ? launched(added, version.version, act) : added;
      return (await store.changeTemplate({ before, after, version }))
        ? presentSummary(after, version)
        : CHANGED_MEANWHILE;
    });
  }

  /** The description of the version before is carried forward. */
  async #described(before: TemplateState | undefined): Promise<string | null> {
    const [newest] = before?.versions ?? [];
    if (before === undefined || newest === undefined) return null;
    return (await this.#options.store.getTemplateVersion(before.id, newest))?.description ?? null;
  }

  async list(kind: string | undefined): Promise<readonly TemplateSummary[]> {
    const all = await this.#options.store.listTemplates(kind === undefined ? {} : { kind });
    return all.map(({ state, newest }) => presentSummary(state, newest));
  }

  async page(query: TemplateQuery & { readonly limit: number }): Promise<TemplatePage> {
    const { limit } = query;
    const found = await this.#options.store.listTemplates({ ...query, limit: limit + 1 });
    const templates = found.slice(0, limit);
    return {
      templates: templates.map(({ state, newest }) => presentSummary(state, newest)),
      more: found.length > limit,
    };
  }

  async get(id: string, version: Selector): Promise<TemplateDetail> {
    const found = await this.#versionOf(id, version);
    return presentDetail(found.state, found.version);
  }

  async delete(id: string, version: Selector, caller: Caller): Promise<void> {
    await this.#change(id, (state) =>
      version == null
        ? { after: undefined, result: undefined }
        : {
            after: withoutVersion(state, versionFor(state, readSelector(version))),
            result: undefined,
          },
    );
    await this.#audit(caller, 'template.delete');
  }

  async launch(id: string, version: Selector, caller: Caller): Promise<LaunchResult> {
    const result = await this.#launch(id, caller, (state) =>
      versionFor(state, readSelector(version ?? 'newest')),
    );
    await this.#audit(caller, 'template.launch');
    return result;
  }

  async rollBack(id: string, caller: Caller): Promise<LaunchResult> {
    const result = await this.#launch(id, caller, (state) => {
      const previous = previousOf(state);
      if (previous !== null) return previous;
      throw new RefusedError(
        'unprocessable',
        `the template \`${id}\` has no previous version to roll back to`,
        { hint: 'launch a version with POST /v1/templates/{id}/launch' },
      );
    });
    await this.#audit(caller, 'template.rollback');
    return result;
  }

  #launch(
    id: string,
    caller: Caller,
    choose: (state: TemplateState) => number,
  ): Promise<LaunchResult> {
    return this.#change(id, (state) => {
      const version = choose(state);
      const replaced = stableOf(state);
      const after = launched(state, version, this.#act(caller));
      const result: LaunchResult = {
        id,
        version,
        ...(replaced === null ? {} : { replaced }),
        already_launched: replaced === version,
        status: statusOf(after),
      };
      return { after, result };
    });
  }

  async tag(
    id: string,
    request: { readonly tag: string; readonly version: Selector },
    caller: Caller,
  ): Promise<{ readonly id: string; readonly tag: string; readonly version: number }> {
    const tag = readAssignable(request.tag);
    const result = await this.#change(id, (state) => {
      const version = versionFor(state, readSelector(request.version ?? 'stable'));
      return { after: tagged(state, tag, version), result: { id, tag, version } };
    });
    await this.#audit(caller, 'template.promote');
    return result;
  }

  async deprecate(
    id: string,
    { reason, undo }: Deprecating,
    caller: Caller,
  ): Promise<{ readonly id: string; readonly status: TemplateStatus }> {
    const result = await this.#change(id, (state) => {
      const after = undo ? revived(state) : deprecated(state, { reason, act: this.#act(caller) });
      return { after, result: { id, status: statusOf(after) } };
    });
    await this.#audit(caller, undo ? 'template.undeprecate' : 'template.deprecate');
    return result;
  }

  async deprecateVersion(
    place: { readonly id: string; readonly version: string },
    { reason, undo }: Deprecating,
    caller: Caller,
  ): Promise<{ readonly id: string; readonly version: number; readonly deprecated: boolean }> {
    const { id } = place;
    const result = await this.#change(id, (state) => {
      const version = versionFor(state, readSelector(place.version));
      const after = undo
        ? versionRevived(state, version)
        : versionDeprecated(state, version, { reason, act: this.#act(caller) });
      return { after, result: { id, version, deprecated: !undo } };
    });
    await this.#audit(caller, 'template.version_deprecate');
    return result;
  }

  async run(
    id: string,
    request: RunTemplate,
    caller: Caller,
    signal: AbortSignal,
    how: RunTemplateHow = {},
  ): Promise<TemplateRun> {
    const { jobs, runs } = this.#options;
    const actions = [{ action: 'template.run', caller }, ...(how.actions ?? [])];
    return runTemplate(
      { id, request, caller, signal, how: { ...how, actions } },
      { jobs, runs, find: (one, selector) => this.#versionToRun(one, selector) },
    );
  }

  choose(id: string, request: RunTemplate, signal: AbortSignal): Promise<ChosenDocument> {
    const { jobs } = this.#options;
    return chooseDocument(
      { id, request, signal },
      { jobs, find: (one, selector) => this.#versionToRun(one, selector) },
    );
  }

  async scheduled(): Promise<readonly TemplateVersion[]> {
    const { store } = this.#options;
    const listed = await store.listScheduled();
    const ids = [...new Set(listed.map(({ id }) => id))];
    const places = new Set(listed.map(({ id, version }) => `${version} ${id}`));
    const versions = await Promise.all(
      ids.map(async (id) => {
        const state = await store.getTemplate(id);
        const stable = state === undefined ? null : stableOf(state);
        return stable !== null && places.has(`${stable} ${id}`)
          ? store.getTemplateVersion(id, stable)
          : undefined;
      }),
    );
    return versions.filter((version) => version !== undefined);
  }

  async matrix(signal: AbortSignal): Promise<TemplateMatrix> {
    const { store, jobs } = this.#options;
    const all = await store.listTemplates();
    const bodies = (kind: string) =>
      Promise.all(
        all
          .filter(({ state }) => state.kind === kind)
          .map(async ({ state, newest }) => {
            const shown = stableOf(state) ?? newestOf(state) ?? newest.version;
            const { body, format } = await this.#version(state, shown);
            return {
              id: state.id,
              newest: newestOf(state),
              stable: stableOf(state),
              body,
              format,
            };
          }),
      );
    const [sources, sinks] = [await bodies('source-template'), await bodies('sink-template')];
    return jobs.run(templateMatrixJob, { kind: 'template_matrix', sources, sinks }, { signal });
  }

  /** The run is stored after the template that it is made from, or not at all. */
  async #versionToRun(id: string, selector: Selector): Promise<FoundVersion> {
    let number = 0;
    const chosen = await this.#options.store.chooseVersion(id, (state) => {
      number = versionFor(state, readSelector(selector ?? 'stable'));
      return number;
    });
    if (chosen === undefined) throw noTemplate(id);
    return { state: chosen.state, version: chosen.version ?? missing(id, number) };
  }

  async #versionOf(id: string, selector: Selector): Promise<FoundVersion> {
    const state = await this.#find(id);
    const number = versionFor(state, readSelector(selector ?? 'stable'));
    return { state, version: await this.#version(state, number) };
  }

  async #find(id: string): Promise<TemplateState> {
    const state = await this.#options.store.getTemplate(id);
    if (state === undefined) throw noTemplate(id);
    return state;
  }

  async #version({ id }: TemplateState, version: number): Promise<TemplateVersion> {
    return (await this.#options.store.getTemplateVersion(id, version)) ?? missing(id, version);
  }

  /** Reads, changes and stores; again when somebody else was quicker. */
  #change<R>(
    id: string,
    change: (state: TemplateState) => {
      readonly after: TemplateState | undefined;
      readonly result: R;
    },
  ): Promise<R> {
    return this.#retry(async () => {
      const before = await this.#find(id);
      const { after, result } = change(before);
      const isDone =
        after === before || (await this.#options.store.changeTemplate({ before, after }));
      return isDone ? result : CHANGED_MEANWHILE;
    });
  }

  async #retry<R>(attempt: () => Promise<R | typeof CHANGED_MEANWHILE>): Promise<R> {
    for (let tries = 0; tries < MOST_ATTEMPTS; tries += 1) {
      const result = await attempt();
      if (result === CHANGED_MEANWHILE) continue;
      this.#options.onChanged?.();
      return result;
    }
    throw new RefusedError('unavailable', 'the template is being changed by others; try again');
  }

  #act({ principal }: Caller): Act {
    return { at: this.#options.env.clock.now().toISOString(), by: principal };
  }

  #audit(caller: Caller, action: string): Promise<void> {
    return this.#options.audit.record(actionOf(caller, action));
  }
}

const CHANGED_MEANWHILE = Symbol('changed meanwhile');

function refuseOtherKind(before: TemplateState | undefined, { kind }: CheckedTemplate): void {
  if (before === undefined || before.kind === kind) return;
  throw new RefusedError(
    'unprocessable',
    `the template \`${before.id}\` is a ${before.kind} and cannot become a ${kind}`,
    { hint: 'use another id' },
  );
}

function noTemplate(id: string): RefusedError {
  return new RefusedError('not_found', `there is no template \`${id}\``, {
    hint: 'GET /v1/templates lists them',
  });
}

function missing(id: string, version: number): never {
  throw new RefusedError('not_found', `the template \`${id}\` has no version ${version}`);
}

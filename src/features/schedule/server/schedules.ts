/** The schedules of a server: documents of a folder, and stored templates. */
import { HistoryError } from '../../../history/history.ts';
import type { ScheduleStore, StoredSchedule } from '../../../history/schedules.ts';
import type { TemplateVersion } from '../../../history/templates.ts';
import type { Env } from '../../../lib/env.ts';
import { messageOf, RefusedError } from '../../../lib/errors.ts';
import { jsonEqual, type JsonObject } from '../../../lib/text/json.ts';
import { actionOf, type Audit } from '../../../runs/service/audit.ts';
import type { Jobs } from '../../../runs/service/jobs.ts';
import type { BaseDocument } from '../../../runs/service/prepared.ts';
import type { RunEnds } from '../../../runs/service/run-ends.ts';
import type { Caller, Runs } from '../../../runs/service/runs.ts';
import { createSubmitWhenRoom } from '../../../runs/service/submit-when-room.ts';
import type { NotifiedPlan } from '../../../wire/plan-summary.ts';
import type { SubmissionReceipt } from '../../../wire/run.ts';
import type { ScheduleView } from '../../../wire/schedules.ts';
import {
  documentsOfTemplates,
  loadDocument,
  readSchedule,
  submissionOf,
  type LoadedDocument,
} from './documents.ts';
import { ScheduleEntry, type EntryServices } from './schedule-entry.ts';

/** Templates may be changed by others that share the history. */
const LOOK_MS = 30_000;
const RETRY_MS = 1000;

export interface Schedules {
  /** By name. */
  list(): readonly ScheduleView[];
  /** This and the following refuse an unknown name with a 404. */
  get(name: string): ScheduleView;
  pause(name: string, caller: Caller): Promise<ScheduleView>;
  resume(name: string, caller: Caller): Promise<ScheduleView>;
  /** 409 while a run of it is active. */
  runNow(name: string, caller: Caller): Promise<SubmissionReceipt>;
}

export interface ScheduleService extends Schedules {
  /** Goes on where the server before this one stopped. Call once, when runs can be submitted. */
  begin(folder: readonly LoadedDocument[]): Promise<void>;
  /** The documents of the folder as they are now. */
  setFolder(folder: readonly LoadedDocument[]): void;
  /** Looks at the templates: another version may have been launched. */
  lookAtTemplates(): Promise<void>;
  /** Another server was told to pause or to resume one. */
  hearPause(change: PauseChange): void;
  /** Starts nothing any more. */
  close(): void;
  /** Resolves when the state of every schedule is stored. */
  settled(): Promise<void>;
}

/** `paused` is null when it goes on. */
export interface PauseChange extends Pick<StoredSchedule, 'name' | 'paused'> {}

export interface SchedulesOptions {
  readonly env: Pick<Env, 'clock' | 'log' | 'metrics'>;
  readonly store: ScheduleStore;
  /** The launched versions of templates that have a schedule. */
  readonly templates: () => Promise<readonly TemplateVersion[]>;
  readonly jobs: Jobs;
  readonly base: () => BaseDocument | undefined;
  readonly runs: Pick<Runs, 'submit' | 'get'>;
  readonly ends: RunEnds;
  readonly audit: Pick<Audit, 'record'>;
  /** Hears what was paused and resumed here, for servers that have the same schedules. */
  readonly onPause?: (change: PauseChange) => void;
  readonly notifier: {
    schedulerStuck(plan: NotifiedPlan | undefined, message: string): Promise<void>;
  };
}

export function createSchedules(options: SchedulesOptions): ScheduleService {
  return new Service(options);
}

class Service implements ScheduleService {
  readonly #options: SchedulesOptions;
  readonly #services: EntryServices;
  readonly #entries = new Map<string, ScheduleEntry>();
  readonly #documents = new Map<string, LoadedDocument>();
  readonly #closing = new AbortController();
  #stored = new Map<string, StoredSchedule>();
  /** Documents that wait for the stored states of schedules. */
  #waitingFolder: readonly LoadedDocument[] | undefined;
  #looking: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | undefined;

  constructor(options: SchedulesOptions) {
    this.#options = options;
    const { env, store, runs, ends } = options;
    const whenRoom = createSubmitWhenRoom(env.clock);
    const { signal } = this.#closing;
    this.#services = {
      env,
      store,
      submit: (document, { tick, caller, isManual }) =>
        isManual
          ? this.#submit(document, { tick, caller, isManual })
          : whenRoom(() => this.#submit(document, { tick, caller, isManual }), signal),
      ended: (runId, stop) => ends.of(runId, { runs, clock: env.clock }, stop),
      giveUp: (document, reason) => this.#giveUp(document, reason),
    };
  }

  list(): readonly ScheduleView[] {
    return [...this.#entries.values()]
      .map((entry) => entry.view())
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): ScheduleView {
    return this.#find(name).view();
  }

  async pause(name: string, caller: Caller): Promise<ScheduleView> {
    await this.#find(name).pause(caller);
    this.#tellPause(name);
    await this.#options.audit.record(actionOf(caller, 'schedule.pause'));
    return this.get(name);
  }

  async resume(name: string, caller: Caller): Promise<ScheduleView> {
    await this.#find(name).resume();
    this.#tellPause(name);
    await this.#options.audit.record(actionOf(caller, 'schedule.resume'));
    return this.get(name);
  }

  async runNow(name: string, caller: Caller): Promise<SubmissionReceipt> {
    const receipt = await this.#find(name).runNow(caller);
    await this.#options.audit.record(actionOf(caller, 'schedule.run', receipt.run_id));
    return receipt;
  }

  async begin(folder: readonly LoadedDocument[]): Promise<void> {
    this.#waitingFolder = folder;
    try {
      await this.#beginNow();
    } catch (error) {
      if (!(error instanceof HistoryError)) throw error;
      this.#options.env.log
        .at('headgate::schedule')
        .warn('schedules wait for the history, which does not answer', { error: messageOf(error) });
      void this.#beginLater();
    }
  }

  /** Without its stored state, a schedule would not know which ticks are done. */
  async #beginNow(): Promise<void> {
    const stored = await this.#options.store.listSchedules();
    this.#stored = new Map(stored.map((schedule) => [schedule.name, schedule]));
    const folder = this.#waitingFolder ?? [];
    this.#waitingFolder = undefined;
    this.setFolder(folder);
    await this.lookAtTemplates();
    void this.#keepLooking();
  }

  async #beginLater(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#options.env.clock.sleep(RETRY_MS, signal);
      if (signal.aborted) return;
      try {
        return await this.#beginNow();
      } catch (error) {
        if (error instanceof HistoryError) continue;
        const log = this.#options.env.log.at('headgate::schedule');
        return log.error('schedules could not be begun', { error: messageOf(error) });
      }
    }
  }

  #tellPause(name: string): void {
    this.#options.onPause?.({ name, paused: this.#find(name).view().paused });
  }

  hearPause({ name, paused }: PauseChange): void {
    this.#entries.get(name)?.hearPause(paused);
  }

  setFolder(folder: readonly LoadedDocument[]): void {
    if (this.#waitingFolder === undefined) this.#set('document', folder);
    else this.#waitingFolder = folder;
  }

  lookAtTemplates(): Promise<void> {
    // One that has not begun sees everything that was changed before.
    this.#nextLook ??= this.#looking.then(() => {
      this.#nextLook = undefined;
      return this.#look();
    });
    this.#looking = this.#nextLook;
    return this.#nextLook;
  }

  close(): void {
    this.#closing.abort();
    for (const entry of this.#entries.values()) entry.close();
  }

  async settled(): Promise<void> {
    await this.#looking;
    await Promise.all([...this.#entries.values()].map((entry) => entry.settled()));
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#options.env.clock.sleep(LOOK_MS, signal);
      if (signal.aborted) return;
      await Promise.all([this.lookAtTemplates(), this.#lookAtPauses()]);
    }
  }

  /** What other servers were told when this one could not hear them. */
  async #lookAtPauses(): Promise<void> {
    const looks = [...this.#entries].map(([name, entry]) => ({ name, take: entry.lookAtPause() }));
    const stored = await this.#options.store.listSchedules().catch(() => []);
    const byName = new Map(stored.map((schedule) => [schedule.name, schedule]));
    for (const { name, take } of looks) take(byName.get(name));
  }

  async #look(): Promise<void> {
    if (this.#closing.signal.aborted || this.#waitingFolder !== undefined) return;
    try {
      const documents = documentsOfTemplates(await this.#options.templates());
      const loaded = documents.map(async (document) => {
        const known = this.#documents.get(document.name);
        const isSame = known?.problem === undefined && jsonEqual(sourceOf(known), document.source);
        return isSame && known !== undefined ? known : loadDocument(document, this.#options);
      });
      this.#set('template', await Promise.all(loaded));
    } catch (error) {
      this.#options.env.log
        .at('headgate::schedule')
        .warn('the schedules of templates could not be looked at', { error: messageOf(error) });
    }
  }

  /** Those of this kind are these, and no others. */
  #set(kind: ScheduleView['source']['kind'], documents: readonly LoadedDocument[]): void {
    if (this.#closing.signal.aborted) return;
    const names = new Set(documents.map(({ name }) => name));
    for (const [name, { source }] of this.#documents)
      if (source.kind === kind && !names.has(name)) this.#remove(name);
    for (const document of documents) {
      const { name } = document;
      const before = this.#documents.get(name);
      if (
        before === document ||
        (before !== undefined && jsonEqual(contentOf(before), contentOf(document)))
      )
        continue;
      this.#documents.set(name, document);
      const entry = this.#entries.get(name);
      if (entry === undefined)
        this.#entries.set(
          name,
          new ScheduleEntry(document, this.#stored.get(name), this.#services),
        );
      else entry.change(document);
    }
  }

  #remove(name: string): void {
    const { store, env } = this.#options;
    const entry = this.#entries.get(name);
    entry?.close();
    this.#entries.delete(name);
    this.#documents.delete(name);
    this.#stored.delete(name);
    void (entry?.settled() ?? Promise.resolve())
      .then(() => store.removeSchedule(name))
      .catch((error: unknown) =>
        env.log.warn('the state of a schedule could not be removed', {
          schedule: name,
          error: messageOf(error),
        }),
      );
  }

  /** The key makes sure that a tick has one run, whoever submits it and how often. */
  async #submit(
    document: LoadedDocument,
    {
      tick,
      caller,
      isManual,
    }: { readonly tick: Date; readonly caller: Caller; readonly isManual: boolean },
  ): Promise<SubmissionReceipt> {
    const { name, source, read } = document;
    const at = tick.toISOString();
    const { spec } = read ?? {};
    return this.#options.runs.submit(
      {
        ...submissionOf(document),
        clock: at,
        timeout_secs: spec?.run_timeout_secs,
        labels: { schedule: name, tick: at, ...templateLabels(source) },
        ...(isManual ? {} : { idempotency_key: `schedule:${name}:${at}` }),
      },
      caller,
      { zone: spec?.timezone ?? 'UTC' },
    );
  }

  async #giveUp(document: LoadedDocument, reason: string): Promise<void> {
    const { notifier, env } = this.#options;
    try {
      const { notified } = await readSchedule(document, this.#options, false);
      await notifier.schedulerStuck(notified, reason);
    } catch (error) {
      env.log.warn('nobody was told that a schedule gives up', {
        schedule: document.name,
        error: messageOf(error),
      });
    }
  }

  #find(name: string): ScheduleEntry {
    const entry = this.#entries.get(name);
    if (entry !== undefined) return entry;
    throw new RefusedError('not_found', `there is no schedule \`${name}\``, {
      hint: 'GET /v1/schedules lists them',
    });
  }
}

function sourceOf(document: LoadedDocument | undefined): JsonObject {
  return document?.source ?? {};
}

function contentOf({ source, tree, problem, read }: LoadedDocument): JsonObject {
  const content = { source, tree, problem: problem ?? null, read: read ?? null };
  return content as unknown as JsonObject;
}

function templateLabels(source: ScheduleView['source']): Record<string, string> {
  return source.kind === 'template'
    ? { template: source.id, template_version: String(source.version) }
    : {};
}

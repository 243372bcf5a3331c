/** From an event to the submission of its run. */
import { hash } from 'node:crypto';
import type { TriggerEvent } from '../../kit/trigger.ts';
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Caller, How, Runs, SubmittingAction } from '../../runs/service/runs.ts';
import type { SubmissionReceipt } from '../../wire/run.ts';
import type { RunTemplate } from '../../wire/templates.ts';
import {
  fillData,
  fillTokens,
  hasTriggerTokens,
  UnfitEvent,
  type TokenValue,
} from './fill-tokens.ts';
import type { LoadedTrigger } from './load-triggers.ts';
import type { TemplateTarget } from './trigger-file.ts';

/** `paramsAreData`: `${` in the values of parameters is text, and no token that is not allowed. */
type TemplateHow = How & { readonly paramsAreData: true };

export interface StartServices {
  readonly runs: Pick<Runs, 'submit'>;
  readonly runTemplate: (
    id: string,
    request: RunTemplate,
    by: { readonly caller: Caller; readonly signal: AbortSignal; readonly how: TemplateHow },
  ) => Promise<SubmissionReceipt>;
  readonly log: Log;
}

export interface Occurrence {
  readonly event: TriggerEvent;
  readonly firedAt: Date;
  readonly sourceIp?: string | undefined;
  readonly signal: AbortSignal;
  /** What the audit log says of it besides the submission of its run. */
  readonly actions?: readonly SubmittingAction[] | undefined;
}

export type Started =
  | { readonly kind: 'run'; readonly receipt: SubmissionReceipt; readonly isNew: boolean }
  /** Its key belongs to another run, or to one that is gone: it cannot start another. */
  | { readonly kind: 'known' };

/** The length of names that a submission may have. */
const LONGEST_NAME = 256;

/** Rejects as `Runs.submit` does; a template that is not there is `unprocessable`. */
export async function startRun(
  trigger: LoadedTrigger,
  occurrence: Occurrence,
  services: StartServices,
): Promise<Started> {
  let isNew = true;
  let isPrepared = false;
  const { actions } = occurrence;
  const how: How = {
    ...(actions === undefined ? {} : { actions }),
    onPrepared: () => void (isPrepared = true),
    onAdmitted: (admission) => void (isNew = admission === 'new'),
  };
  try {
    const receipt = await submit(trigger, occurrence, { ...services, how });
    const { run_id, status, submitted_at } = receipt;
    return { kind: 'run', receipt: { run_id, status, submitted_at }, isNew };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.code === 'conflict') return { kind: 'known' };
    if (error.code !== 'not_found') throw error;
    if (isPrepared) return { kind: 'known' };
    throw new RefusedError('unprocessable', `the template cannot be run: ${error.message}`, {
      hint: 'register it, or change the file of triggers',
    });
  }
}

const VALUE_FAULTS: ReadonlySet<string> = new Set(['param_type', 'param_value']);

/**
 * Whether only what this event says kept its run from being started: the next one may have one,
 * and this one never will.
 */
export function isUnfit(error: unknown, { runs }: Pick<LoadedTrigger, 'runs'>): boolean {
  if (error instanceof UnfitEvent) return true;
  if (!(error instanceof ConfigError) || runs.kind !== 'template') return false;
  const ofEvents = Object.entries(runs.template.params ?? {})
    .filter(([, value]) => hasTriggerTokens(value))
    .map(([name]) => joinPath('params', name));
  return error.issues.every(({ code, path }) => VALUE_FAULTS.has(code) && ofEvents.includes(path));
}

function submit(
  trigger: LoadedTrigger,
  occurrence: Occurrence,
  { runs, runTemplate, log, how }: StartServices & { readonly how: How },
): Promise<SubmissionReceipt> {
  const { name, runs: what } = trigger;
  const { event, sourceIp, signal } = occurrence;
  const caller: Caller = {
    principal: `trigger:${name}`,
    role: 'operator',
    ...(sourceIp === undefined ? {} : { sourceIp }),
  };
  const value = valueOf(trigger, occurrence, log);
  const settings = {
    name: nameOf(trigger, event),
    labels: labelsOf(trigger, event),
    timeout_secs: trigger.run.timeout_secs,
    priority: trigger.run.priority,
    idempotency_key: event.key,
  };
  if (what.kind === 'template')
    return runTemplate(
      what.template.id,
      { ...settings, ...filledTemplate(what.template, value) },
      { caller, signal, how: { ...how, paramsAreData: true } },
    );
  const config = what.kind === 'text' ? what.config : stringifyJson(fillTokens(what.tree, value));
  return runs.submit({ ...settings, config, config_format: 'json' }, caller, how);
}

function valueOf(
  { name, definition }: LoadedTrigger,
  { event, firedAt }: Occurrence,
  log: Log,
): TokenValue {
  return (token) => {
    if (token === 'name') return name;
    if (token === 'type') return definition.type;
    if (token === 'fired_at') return firedAt.toISOString();
    const value = event.value(token);
    if (value === undefined)
      log.warn('a token of a trigger has no value and stands for nothing', {
        trigger: name,
        token,
      });
    return value ?? '';
  };
}

/** Its own labels win over those that say what happened. */
function labelsOf({ name, definition, run }: LoadedTrigger, event: TriggerEvent) {
  const happened = Object.entries({ ...event.labels, name, type: definition.type });
  return {
    ...Object.fromEntries(happened.map(([label, value]) => [`svc.trigger.${label}`, value])),
    ...run.labels,
  };
}

function nameOf({ name, run }: LoadedTrigger, event: TriggerEvent): string {
  const full = (run.name ?? name).replaceAll(/\{(\w+)\}/g, (placeholder, token: string) =>
    token === 'name' ? name : (event.value(token) ?? placeholder),
  );
  if (full.length <= LONGEST_NAME) return full;
  // Runs of the same name share bookmarks: what is cut off has to count.
  const end = `-${hash('sha256', full).slice(0, 16)}`;
  return full.slice(0, LONGEST_NAME - end.length) + end;
}

function filledTemplate({ id: _id, ...template }: TemplateTarget, value: TokenValue): RunTemplate {
  const { params, env } = template;
  return {
    ...template,
    ...(params === undefined ? {} : { params: fillData(params, value) }),
    ...(env === undefined ? {} : { env: fillData(env, value) as Record<string, string> }),
  };
}

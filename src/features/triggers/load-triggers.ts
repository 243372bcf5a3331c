/** The triggers of a file with their documents, ready to fire. */
import { dirname, resolve } from 'node:path';
import { composeFile, composeText } from '../../document/load.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { checkTriggers, type CheckOptions } from './check-triggers.ts';
import { hasTriggerTokens } from './fill-tokens.ts';
import type { TemplateTarget, Trigger } from './trigger-file.ts';

export type Runnable =
  /** The same text for every run. */
  | { readonly kind: 'text'; readonly config: string }
  /** A document with `${trigger.…}`. */
  | { readonly kind: 'tree'; readonly tree: JsonObject }
  | { readonly kind: 'template'; readonly template: TemplateTarget };

export interface LoadedTrigger extends Trigger {
  readonly runs: Runnable;
}

export interface LoadedTriggers {
  /** By name. */
  readonly triggers: readonly LoadedTrigger[];
  readonly warnings: readonly string[];
}

/**
 * `file` is absolute. Documents are composed now and resolved by whoever executes a run. Throws
 * `ConfigError` with every issue of the file and its documents.
 */
export function loadTriggers(file: string, options: CheckOptions): LoadedTriggers {
  const { triggers, warnings } = checkTriggers(file, options);
  return {
    triggers: triggers
      .map((trigger) => ({ ...trigger, runs: runnableOf(trigger, file, options) }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    warnings: warnings.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)),
  };
}

function runnableOf({ target }: Trigger, file: string, { reading }: CheckOptions): Runnable {
  if (target.kind === 'template') return target;
  const { document } = target;
  const { tree } =
    typeof document === 'string'
      ? composeFile(resolve(dirname(file), document), reading)
      : composeText({ path: file, format: 'json', text: stringifyJson(document) }, reading);
  return hasTriggerTokens(tree)
    ? { kind: 'tree', tree }
    : { kind: 'text', config: stringifyJson(tree) };
}

/**
 * What validation and lint say of a text in an editor. Nothing is contacted, and neither variables,
 * files behind tokens nor secrets are read: their tokens stay as they are.
 */
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { composeText, loadDocument } from '../document/load.ts';
import { PLACEHOLDERS } from '../document/params/param-type.ts';
import type { Format } from '../document/parse/parse.ts';
import { canonicalPaths, localFiles } from '../document/text/local-file.ts';
import { withPlaces } from '../document/text/locate.ts';
import { compileIssues, transformsOf } from '../engine/checks/compile-check.ts';
import { lint } from '../features/lint/index.ts';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../lib/text/json.ts';
import type { Plan } from '../plan/plan.ts';
import { loadToPlan } from '../plan/load-to-plan.ts';
import { planDocument } from '../plan/plan-document.ts';

export interface CheckedText {
  /** Absolute. */
  readonly file: string;
  readonly format: Format;
  readonly text: string;
}

export interface Checking {
  readonly env: Env;
  readonly parts: Parts;
  /** The text of a file that is open in the editor, which may not be saved yet. */
  openText(file: string): string | undefined;
}

export interface Problem extends Issue {
  readonly severity: 'error' | 'warning' | 'advice';
}

export interface CheckResult {
  readonly problems: readonly Problem[];
  /** Other files that the document is made of. */
  readonly files: ReadonlySet<string>;
}

export async function checkDocument(
  checked: CheckedText,
  checking: Checking,
): Promise<CheckResult> {
  const cwd = dirname(checked.file);
  const files = new Set<string>();
  const fromDisk = localFiles(cwd);
  const readFile = (path: string, limit: number): Uint8Array => {
    const absolute = resolve(cwd, path);
    files.add(absolute);
    const open = checking.openText(absolute);
    return open === undefined ? fromDisk(path, limit) : Buffer.from(open);
  };
  const { env, parts } = checking;
  const options = { readFile, canonicalPath: canonicalPaths(cwd) };
  try {
    const planning = { cpus: availableParallelism(), selection: {}, backfill: 'kept' } as const;
    const load = () =>
      loadDocument(checked.text, {
        ...options,
        format: checked.format,
        origin: { kind: 'file', path: checked.file },
        variables: {},
        redactor: env.redactor,
        secretManagers: parts.secrets,
        keepSecrets: true,
        keepOutside: true,
        paramMode: 'placeholders',
      });
    const document = await loadToPlan(load, parts, planning);
    const plan = planDocument(document, parts, planning);
    const faults = withPlaces(await transformFaults(plan, env), document.locate);
    const { tree, locate } = composeText({ ...checked, path: checked.file }, options);
    const advice = lint({ tree, plan, parts }).map(({ rule, path, message, fix }): Problem => ({
      code: rule.code,
      path,
      message,
      hint: fix ?? rule.fix,
      severity: rule.severity,
      ...(path === '' ? {} : locate(path)),
    }));
    const warnings = withSeverity(plan.warnings, 'warning');
    return { problems: [...withSeverity(faults, 'error'), ...warnings, ...advice], files };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: withSeverity(error.issues, 'error'), files };
  }
}

function withSeverity(issues: readonly Issue[], severity: Problem['severity']): Problem[] {
  return issues.map((issue) => ({ ...issue, severity }));
}

/** What only compiling shows; a transform with a token in it is left to the run. */
async function transformFaults(plan: Plan, env: Env): Promise<readonly Issue[]> {
  const open = [String(PLACEHOLDERS.string), '${'];
  const known = transformsOf(plan).filter(
    ({ config }) => !open.some((text) => stringifyJson(config).includes(text)),
  );
  const now = { date: env.clock.now(), zone: 'UTC' };
  return compileIssues(known, { env, tokens: { now, records: new Map<string, JsonValue>() } });
}

/** The file that says what starts runs: read whole, every problem at its place. */
import { z, type ZodType } from 'zod';
import { boolean, check, finding, integer, json, optional, text } from '../../kit/schema.ts';
import type { TriggerDefinition } from '../../kit/trigger.ts';
import type { Issue } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { RUN_PRIORITIES } from '../../wire/run-priority.ts';
import { parseText } from '../../document/parse/parse.ts';
import { stepsOf } from '../../document/parse/steps.ts';
import { readFormattedFile } from '../../document/text/file-text.ts';
import { interpolate } from '../../document/tokens/interpolate.ts';
import type { TokenSources } from '../../document/tokens/outside-values.ts';
import { restoreEscapes } from '../../document/tokens/tokens.ts';
import type { Locate } from '../../document/text/locate.ts';

/** A trigger with what its kind knows of it. */
export interface Trigger {
  /** Its place in the file: `triggers[2]`. */
  readonly path: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly definition: TriggerDefinition;
  /** The fields of its kind, parsed. */
  readonly config: unknown;
  readonly target: Target;
  readonly run: z.output<ReturnType<typeof runSchema>>;
}

/** What its runs execute. */
export type Target =
  /** A file, relative to that of the triggers, or a document that is written out. */
  | { readonly kind: 'document'; readonly document: string | JsonObject }
  | { readonly kind: 'template'; readonly template: TemplateTarget };

export type TemplateTarget = z.output<ReturnType<typeof templateSchema>>;

export interface TriggerFile {
  readonly triggers: readonly Trigger[];
  /** Empty when every trigger can be used. */
  readonly issues: readonly Issue[];
  readonly locate: Locate;
}

/** What names of runs, routes and metrics can hold. */
const NAME = /^[A-Za-z0-9_-]+$/;

const runSchema = () =>
  z.strictObject({
    name: optional(text()).meta({
      description:
        'Name of its runs; the name of the trigger when absent. May hold `{name}`, and `{bucket}` and `{object_key}` of objects.',
    }),
    labels: optional(z.record(text(), z.string())).meta({
      description: 'Labels of its runs, besides `svc.trigger.name` and `svc.trigger.type`.',
    }),
    timeout_secs: optional(integer({ min: 1 })).meta({
      description: 'Time limit of a run in seconds; none when absent.',
    }),
    priority: optional(z.enum(RUN_PRIORITIES)).meta({
      description:
        'Of runs that wait, those of a higher priority begin first; `normal` when absent.',
    }),
  });

const version = () => optional(z.union([text(), z.int().positive()]));

const templateSchema = () =>
  z.strictObject({
    id: text().meta({ description: 'Id of the template.' }),
    version: version().meta({ description: 'Number or channel; `stable` when absent.' }),
    params: optional(z.record(text(), json())).meta({
      description: 'Values of its parameters; they may hold `${trigger.…}`.',
    }),
    env: optional(z.record(text(), z.string())).meta({
      description:
        'Variables that `${env:…}` of its runs sees first; they may hold `${trigger.…}`.',
    }),
    sink: optional(text()).meta({ description: 'Id of a sink template.' }),
    sink_version: version().meta({ description: 'Its version; `stable` when absent.' }),
    overlay: optional(z.union([text(), inlineDocument])).meta({
      description: 'Id of a deployment, or one as a mapping.',
    }),
    overlay_version: version().meta({ description: 'Its version; `stable` when absent.' }),
  });

const inlineDocument = z.custom<JsonObject>((value) => isObject(value));

/** The fields of every trigger. */
const commonFields = (type: string, description: string) => ({
  name: text()
    .superRefine((name, ctx) => {
      if (NAME.test(name)) return;
      ctx.addIssue(
        finding('invalid_value', `\`${name}\` cannot be the name of a trigger`, {
          hint: 'use letters, digits, `_` and `-`',
        }),
      );
    })
    .meta({ description: 'Name of the trigger; unique.' }),
  type: z.literal(type).meta({ description }),
  enabled: boolean().default(true).meta({ description: 'Whether it starts runs.' }),
  config: optional(z.union([text(), inlineDocument])).meta({
    description: 'The document to run: a file, relative to this one, or the document itself.',
  }),
  template: optional(templateSchema()).meta({
    description: 'The registered template to run, instead of `config`.',
  }),
  run: optional(runSchema()).meta({
    description: 'What its runs are called, and how long they may take.',
  }),
});

function entrySchema(kind: TriggerDefinition) {
  const { type, description } = kind;
  return z.strictObject({ ...commonFields(type, description), ...kind.fields().shape });
}

/** For `headgate schema triggers`. */
export function triggerFileSchema(definitions: readonly TriggerDefinition[]): ZodType {
  const [first, ...others] = definitions.map(entrySchema);
  if (first === undefined) return headSchema;
  return headSchema.extend({
    triggers: z
      .array(z.discriminatedUnion('type', [first, ...others]))
      .meta({ description: 'What starts runs.' }),
  });
}

const headSchema = z.strictObject({
  version: z.literal(1).meta({ description: 'Version of this format: 1.' }),
  triggers: z.array(json()).meta({ description: 'What starts runs.' }),
});

/**
 * Throws `ConfigError` when the file cannot be read as YAML or JSON. Tokens such as `${env:…}` are
 * filled in where they stand in fields of a kind; those of documents stay.
 */
export function readTriggerFile(
  file: string,
  definitions: readonly TriggerDefinition[],
  sources: TokenSources,
): TriggerFile {
  const read = readFormattedFile(file, sources.readFile);
  const { tree, locate } = parseText(read.text, read.format, { kind: 'file', path: file });
  const issues: Issue[] = [];
  const head = check(headSchema, tree);
  if (!head.ok) issues.push(...head.issues);
  const entries = Array.isArray(tree['triggers']) ? tree['triggers'] : [];
  const triggers = entries.flatMap((entry, index) => {
    const path = joinPath('triggers', index);
    return readTrigger(entry, { path, definitions, sources, issues }) ?? [];
  });
  issues.push(...duplicates(entries));
  return { triggers, issues, locate };
}

interface Reading {
  readonly path: string;
  readonly definitions: readonly TriggerDefinition[];
  readonly sources: TokenSources;
  readonly issues: Issue[];
}

type Report = (this: void, issue: Issue) => void;

function readTrigger(
  entry: JsonValue,
  { path, definitions, sources, issues }: Reading,
): Trigger | undefined {
  const known = isObject(entry) && typeof entry['name'] === 'string' ? entry['name'] : undefined;
  /** Whoever reads one line of a log knows which trigger it is about. */
  const report = (issue: Issue): void => {
    const message = known === undefined ? issue.message : `trigger \`${known}\`: ${issue.message}`;
    issues.push({ ...issue, message });
  };
  if (!isObject(entry)) {
    report({ code: 'wrong_type', path, message: 'expected a mapping' });
    return undefined;
  }
  const definition = definitions.find(({ type }) => type === entry['type']);
  const kind = definition ?? unknownKind(entry['type'], { path, definitions, report });
  const { filled, unfilled } = withValues({ ...entry, type: kind.type }, { path, sources, report });
  const checked = check(entrySchema(kind), filled, path);
  if (!checked.ok)
    for (const issue of checked.issues)
      // The fields of a kind that is not known are not known either.
      if (!unfilled.has(issue.path) && (definition !== undefined || issue.code !== 'unknown_key'))
        report(issue);
  if (!checked.ok || unfilled.size > 0) return undefined;
  const { name, enabled, config, template, run, type: _type, ...fields } = checked.value;
  const target = targetOf(config, template, { path, report });
  if (definition === undefined || target === undefined) return undefined;
  // Rules between fields are of the whole schema of the kind only.
  const own = check(definition.fields(), fields, path);
  if (!own.ok) own.issues.forEach(report);
  if (!own.ok) return undefined;
  for (const secret of definition.secrets(own.value)) sources.redactor.register(secret);
  const trigger = { path, name, enabled, definition, config: own.value, target, run: run ?? {} };
  checkRunName(trigger, report);
  return trigger;
}

/** The entry with what its own fields refer to: addresses and secrets need not stand in the file. */
function withValues(
  entry: JsonObject,
  { path, sources, report }: Pick<Reading, 'path' | 'sources'> & { readonly report: Report },
): { readonly filled: JsonObject; readonly unfilled: ReadonlySet<string> } {
  const fields = Object.fromEntries(
    Object.entries(entry).filter(([key]) => !Object.hasOwn(commonFields('', ''), key)),
  );
  const { tree, issues } = interpolate(fields, sources);
  const found = issues.map((issue) => ({
    ...issue,
    path: joinPath(path, ...stepsOf(issue.path)),
  }));
  found.forEach(report);
  return {
    filled: { ...entry, ...restoreEscapes(tree) },
    unfilled: new Set(found.map((issue) => issue.path)),
  };
}

function targetOf(
  document: string | JsonObject | undefined,
  template: TemplateTarget | undefined,
  { path, report }: { readonly path: string; readonly report: Report },
): Target | undefined {
  if (document !== undefined && template === undefined) return { kind: 'document', document };
  if (template !== undefined && document === undefined) return { kind: 'template', template };
  if (document === undefined)
    report({
      code: 'missing_key',
      path: joinPath(path, 'config'),
      message: '`config` is required',
      hint: 'name a document, or a `template`',
    });
  else
    report({
      code: 'invalid_value',
      path: joinPath(path, 'template'),
      message: 'a trigger runs a document or a template, not both',
      hint: 'leave `config` or `template` out',
    });
  return undefined;
}

/** Reports the type, and gives a kind without fields, so that the other fields are checked. */
function unknownKind(
  type: JsonValue | undefined,
  {
    path,
    definitions,
    report,
  }: Pick<Reading, 'path' | 'definitions'> & { readonly report: Report },
): TriggerDefinition {
  const types = definitions.map((one) => one.type);
  const at = joinPath(path, 'type');
  if (type === undefined || type === null)
    report({
      code: 'missing_key',
      path: at,
      message: '`type` is required',
      hint: `possible are: ${types.join(', ')}`,
    });
  else {
    const given = typeof type === 'string' ? type : JSON.stringify(type);
    const hint = suggestion(given, types, 'possible are');
    report({
      code: 'unknown_type',
      path: at,
      message: `there is no kind of trigger called \`${given}\``,
      ...(hint === undefined ? {} : { hint }),
    });
  }
  return {
    role: 'trigger',
    type: '',
    description: 'A kind that is not known.',
    fields: () => z.strictObject({}),
    examples: [],
    tokens: () => [],
    starts: () => '',
    secrets: () => [],
    events: {
      by: 'request',
      open: () => {
        throw new Error('a kind that is not known has no events');
      },
    },
  };
}

/** A placeholder that this trigger never fills in would stand in the name of every run. */
function checkRunName({ path, run, definition, config }: Trigger, report: Report): void {
  const known = new Set(['name', 'object_key', 'bucket']);
  const filled = new Set(
    definition.tokens(config).flatMap(({ name, inRunName }) => (inRunName === true ? [name] : [])),
  );
  for (const [, placeholder = ''] of (run.name ?? '').matchAll(/\{(\w+)\}/g)) {
    if (placeholder === 'name' || filled.has(placeholder) || !known.has(placeholder)) continue;
    report({
      code: 'unknown_token',
      path: joinPath(path, 'run', 'name'),
      message: `\`{${placeholder}}\` has no value in a trigger of this kind`,
      hint: `there are: ${['name', ...filled].map((one) => `{${one}}`).join(', ')}`,
    });
  }
}

function duplicates(entries: readonly JsonValue[]): Issue[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index): Issue[] => {
    const name = isObject(entry) ? entry['name'] : undefined;
    if (typeof name !== 'string') return [];
    const before = first.get(name);
    if (before === undefined) {
      first.set(name, index);
      return [];
    }
    return [
      {
        code: 'duplicate_name',
        path: joinPath('triggers', index, 'name'),
        message: `there are two triggers \`${name}\`: see \`triggers[${before}]\``,
        hint: 'give each a name of its own',
      },
    ];
  });
}

/** What is done with the documents of templates, in a worker. */
import { loadDocument } from '../../document/load.ts';
import { paramSchema } from '../../document/structure/params.ts';
import type { Parts } from '../../kit/parts.ts';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { withPlaces } from '../../document/text/locate.ts';
import { BLOCKS } from '../../blocks/index.ts';
import { check } from '../../kit/schema.ts';
import {
  isObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { IssueList } from '../../plan/issue-list.ts';
import { loadToPlan } from '../../plan/load-to-plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { PartPlanner, reportUnknownType } from '../../plan/plan-part.ts';
import { defineJob, type JobContext } from '../../runs/worker/define-job.ts';
import {
  checkTemplateJobSchema,
  composeTemplateJobSchema,
  templateMatrixJobSchema,
  type RequestOf,
} from '../../wire/job.ts';
import type { TEMPLATE_KINDS } from '../../wire/template-kinds.ts';
import type { TemplateMatrix } from '../../wire/templates.ts';
import { compose, type Composed } from './documents/compose.ts';
import { DEPLOYED_BLOCKS } from './documents/kinds.ts';
import { lint } from './documents/lint.ts';
import { matrixOf } from './documents/matrix.ts';
import {
  idOf,
  readTemplate,
  type DocumentOf,
  type TemplateDocument,
  type TemplateText,
} from './documents/read.ts';

const QUICK = {
  atOnce: 2,
  waiting: 100,
  limitMs: 45_000,
  countsFrom: 'begin',
  graceMs: 0,
  overdue: 'unprocessable',
  isRepeatable: true,
} as const;

export interface CheckedTemplate {
  readonly kind: (typeof TEMPLATE_KINDS)[number];
  /** By which it is registered, where the document says so. */
  readonly id: string | null;
  readonly name: string | null;
  readonly description: string | null;
  /** As lists show them. */
  readonly params: JsonObject;
  /** It says when it runs. */
  readonly is_scheduled: boolean;
}

export const checkTemplateJob = defineJob({
  kind: 'check_template',
  word: 'check of a template',
  request: checkTemplateJobSchema,
  limits: QUICK,
  execute: async (request, context): Promise<CheckedTemplate> => checkTemplate(request, context),
});

/** Throws `ConfigError`. No variable, file or secret is read. */
async function checkTemplate(
  { template, base }: RequestOf<'check_template'>,
  context: JobContext,
): Promise<CheckedTemplate> {
  const document = readTemplate(template);
  if (document.kind === 'pipeline') await checkPipeline({ template, base }, context);
  else {
    const issues = [...partFaults(document, context.parts), ...lint(document)];
    if (issues.length > 0) throw new ConfigError(withPlaces(issues, document.locate));
  }
  const { tree } = document;
  const name = typeof tree['name'] === 'string' ? tree['name'] : null;
  return {
    kind: document.kind,
    id: document.kind === 'pipeline' ? null : idOf(document.template),
    name,
    description: typeof tree['description'] === 'string' ? tree['description'] : null,
    params: listedParams(tree['params']),
    is_scheduled: document.kind === 'pipeline' && tree['schedule'] != null,
  };
}

async function checkPipeline(
  { template, base }: Omit<RequestOf<'check_template'>, 'kind'>,
  { env, parts, cpus }: JobContext,
): Promise<void> {
  const { body, format } = template;
  const load = () =>
    loadDocument(body, {
      format,
      origin: { kind: 'submitted' },
      variables: {},
      readFile: () => new Uint8Array(),
      redactor: env.redactor,
      secretManagers: parts.secrets,
      keepSecrets: true,
      keepOutside: true,
      paramMode: 'placeholders',
      ...(base === null ? {} : { base: parseJson(base) as JsonObject }),
    });
  const document = await loadToPlan(load, parts, { cpus });
  planDocument(document, parts, { cpus });
}

/** Connectors that are not there, and settings of them that no stream can put right. */
function partFaults(document: TemplateDocument, parts: Parts): readonly Issue[] {
  const issues = new IssueList();
  const planner = new PartPlanner(issues);
  const judge = (
    role: 'source' | 'sink',
    path: string,
    part: { type: string; config: JsonObject },
  ) => {
    const registry = role === 'source' ? parts.sources : parts.sinks;
    const definition = registry.get(part.type);
    if (definition === undefined)
      reportUnknownType(
        { kind: role, type: part.type, path: joinPath(path, 'type'), registry },
        issues,
      );
    else planner.judgePreset({ path, config: part.config }, definition);
  };
  if (document.kind === 'source-template') {
    judge('source', 'source', document.template.source);
    for (const [name, part] of Object.entries(document.template.sources))
      judge('source', joinPath('sources', name), part);
  }
  if (document.kind === 'sink-template') judge('sink', 'sink', document.template.sink);
  if (document.kind === 'deployment') for (const issue of blockFaults(document)) issues.add(issue);
  return issues.errors;
}

/** Faults of the blocks of a deployment; one that holds tokens is judged when it is composed. */
function blockFaults({ tree }: DocumentOf<'deployment'>): Issue[] {
  const streams = isObject(tree['streams']) ? Object.entries(tree['streams']) : [];
  const places = [
    ['', tree] as const,
    ...streams.map(([name, entry]) => [joinPath('streams', name), entry] as const),
  ];
  return places.flatMap(([path, entry]) =>
    isObject(entry)
      ? Object.entries(entry).flatMap(([key, value]) => blockFault(key, value, joinPath(path, key)))
      : [],
  );
}

function blockFault(key: string, value: JsonValue, path: string): readonly Issue[] {
  const name = key === 'notify' ? 'notifications' : key;
  const block = Object.hasOwn(DEPLOYED_BLOCKS, name)
    ? BLOCKS.find((one) => one.name === name)
    : undefined;
  if (block === undefined || value === null || stringifyJson(value).includes('${')) return [];
  const result = check(block.schema, value, path);
  return result.ok ? [] : result.issues;
}

/** The block `params` has been checked. */
function listedParams(block: JsonValue | undefined): JsonObject {
  if (!isObject(block)) return {};
  return Object.fromEntries(
    Object.entries(block).map(([name, entry]) => [name, listedParam(entry)]),
  );
}

function listedParam(entry: JsonValue): JsonObject {
  const { type, required, secret, ...rest } = paramSchema.parse(entry);
  const { default: fallback, ...shown } = rest;
  const listed = {
    type,
    required: required === true,
    secret: secret === true,
    ...shown,
    ...(fallback === undefined || secret === true ? {} : { default: fallback }),
  };
  return Object.fromEntries(Object.entries(listed).filter(([, value]) => value !== undefined));
}

export const composeTemplateJob = defineJob({
  kind: 'compose_template',
  word: 'composition of templates',
  request: composeTemplateJobSchema,
  limits: QUICK,
  execute: async ({ source, sink, overlay }, { parts }): Promise<Composed> => {
    const deployment = overlay === null ? undefined : readAs('deployment', overlay);
    return compose(
      {
        source: readAs('source-template', source),
        sink: readAs('sink-template', sink),
        ...(deployment === undefined ? {} : { overlay: { document: deployment } }),
      },
      parts,
    );
  },
});

export const templateMatrixJob = defineJob({
  kind: 'template_matrix',
  word: 'matrix of templates',
  request: templateMatrixJobSchema,
  limits: { ...QUICK, atOnce: 1 },
  execute: async ({ sources, sinks }, { parts }): Promise<TemplateMatrix> =>
    matrixOf(
      sources.map((one) => ({ ...one, document: readAs('source-template', one) })),
      sinks.map((one) => ({ ...one, document: readAs('sink-template', one) })),
      parts,
    ),
});

/** The registry looked at the kind before. */
function readAs<K extends TemplateDocument['kind']>(
  kind: K,
  template: TemplateText,
): DocumentOf<K> {
  const document = readTemplate(template);
  if (document.kind === kind) return document as DocumentOf<K>;
  throw new ConfigError([
    { code: 'invalid_value', path: 'kind', message: `expected a ${kind}, got a ${document.kind}` },
  ]);
}

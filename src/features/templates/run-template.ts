/** Starts a run from a template: which document, with which values, and what is told of it. */
import type { TemplateState, TemplateVersion } from '../../history/templates.ts';
import { parseText } from '../../document/parse/parse.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { Caller, How, Runs } from '../../runs/service/runs.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import type { Submission } from '../../wire/run.ts';
import type { RunTemplate, TemplateRun } from '../../wire/templates.ts';
import type { Composed } from './documents/compose.ts';
import { deprecationOf } from './release.ts';
import { composeTemplateJob } from './template-jobs.ts';

export interface FoundVersion {
  readonly state: TemplateState;
  readonly version: TemplateVersion;
}

export interface RunServices {
  readonly jobs: Jobs;
  readonly runs: Pick<Runs, 'submit'>;
  readonly find: (id: string, version: string | number | null | undefined) => Promise<FoundVersion>;
}

/** What whoever runs a template may hear of it. */
export interface RunTemplateHow extends Pick<How, 'onPrepared' | 'onAdmitted' | 'actions'> {
  /** The values of its parameters come from an event: `${` in them is text. */
  readonly paramsAreData?: true;
}

export interface TemplateCall {
  readonly id: string;
  readonly request: RunTemplate;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly how?: RunTemplateHow;
}

/** The document of one run, and what the answer and the labels say of where it came from. */
interface Chosen {
  readonly config: string;
  readonly config_format: 'yaml' | 'json';
  readonly found: readonly FoundVersion[];
  /** Names of parameters that hold secrets. */
  readonly secrets: readonly string[];
  readonly details: Partial<TemplateRun>;
}

/** What is run: the document, with the versions it is made of. */
export interface ChosenDocument extends Chosen {
  readonly main: FoundVersion;
}

export async function chooseDocument(
  { id, request, signal }: Omit<TemplateCall, 'caller' | 'how'>,
  services: Omit<RunServices, 'runs'>,
): Promise<ChosenDocument> {
  const main = await services.find(id, request.version);
  const chosen =
    main.state.kind === 'source-template'
      ? await composed(main, { request, signal }, services)
      : whole(main, request);
  const notes = chosen.found.flatMap(deprecationNotes);
  const details =
    notes.length === 0 ? chosen.details : { deprecated: notes.join('; '), ...chosen.details };
  return { ...chosen, details, main };
}

export async function runTemplate(
  { id, request, caller, signal, how: { paramsAreData, ...heard } = {} }: TemplateCall,
  services: RunServices,
): Promise<TemplateRun> {
  const { main, ...chosen } = await chooseDocument({ id, request, signal }, services);
  const { submission, how } = submissionOf(main, chosen, request, paramsAreData);
  let summary: PlanSummary | undefined;
  const receipt = await services.runs.submit(submission, caller, {
    ...heard,
    ...how,
    onPrepared: (prepared) => {
      summary = prepared;
      heard.onPrepared?.(prepared);
    },
  });
  return {
    ...receipt,
    template_id: id,
    template_version: main.version.version,
    params: summary?.params ?? {},
    ...chosen.details,
  };
}

/** A pipeline is a document by itself. */
function whole(main: FoundVersion, request: RunTemplate): Chosen {
  const { sink, overlay } = request;
  const { id, kind } = main.state;
  if (kind !== 'pipeline')
    throw refusal(
      `the template \`${id}\` is a ${kind}, which does not run by itself`,
      kind === 'deployment'
        ? 'run a source template with it as `overlay`'
        : 'run a source template with it as `sink`',
    );
  const key = sink == null ? (overlay == null ? undefined : 'overlay') : 'sink';
  if (key !== undefined)
    throw refusal(
      `${key}: the template \`${id}\` is a whole pipeline and takes none`,
      `leave \`${key}\` out`,
    );
  refuseVersionsOfNothing(request);
  const secrets = secretsIn(main.version.params);
  return { ...unscheduled(main.version), found: [main], secrets, details: {} };
}

/** A run is now: when others run is nothing that it may say. */
function unscheduled({
  body,
  format,
  is_scheduled,
}: TemplateVersion): Pick<Chosen, 'config' | 'config_format'> {
  if (!is_scheduled) return { config: body, config_format: format };
  const { schedule: _, ...rest } = parseText(body, format, { kind: 'submitted' }).tree;
  return { config: stringifyJson(rest), config_format: 'json' };
}

async function composed(
  source: FoundVersion,
  { request, signal }: { readonly request: RunTemplate; readonly signal: AbortSignal },
  { jobs, find }: Omit<RunServices, 'runs'>,
): Promise<Chosen> {
  if (request.sink == null)
    throw refusal(
      `sink: the template \`${source.state.id}\` is a source template and needs one`,
      'name a sink template; GET /v1/templates/matrix shows which ones fit',
    );
  refuseVersionsOfNothing(request);
  const sink = await find(request.sink, request.sink_version);
  requireKind(sink, 'sink-template', 'sink');
  const overlay = await overlayOf(request, find);
  const made = await jobs.run(
    composeTemplateJob,
    {
      kind: 'compose_template',
      source: textOf(source),
      sink: textOf(sink),
      overlay: overlay?.text ?? null,
    },
    { signal },
  );
  const { schedule: _, ...document } = made.document;
  return {
    config: stringifyJson(document),
    config_format: 'json',
    found: [source, sink, ...(overlay?.found === undefined ? [] : [overlay.found])],
    secrets: secretsIn(document['params'] ?? null),
    details: detailsOf(made, sink, overlay),
  };
}

interface ChosenOverlay {
  readonly text: { readonly body: string; readonly format: 'yaml' | 'json' };
  readonly found?: FoundVersion;
}

async function overlayOf(
  { overlay, overlay_version: version }: RunTemplate,
  find: RunServices['find'],
): Promise<ChosenOverlay | undefined> {
  if (overlay == null) return undefined;
  if (typeof overlay === 'string') {
    const found = await find(overlay, version);
    requireKind(found, 'deployment', 'overlay');
    return { text: textOf(found), found };
  }
  // It came as JSON. The header of a deployment may be left out.
  const written = { kind: 'deployment', name: 'inline', ...overlay } as JsonObject;
  return { text: { body: stringifyJson(written), format: 'json' } };
}

/** Whoever pins a version believes that it counts. */
function refuseVersionsOfNothing(request: RunTemplate): void {
  const { sink, sink_version: ofSink, overlay, overlay_version: ofOverlay } = request;
  const key =
    ofSink != null && sink == null
      ? 'sink'
      : ofOverlay != null && typeof overlay !== 'string'
        ? 'overlay'
        : undefined;
  if (key !== undefined)
    throw refusal(
      `${key}_version: \`${key}\` names no template that it could be a version of`,
      `name one by its id, or leave \`${key}_version\` out`,
    );
}

function requireKind({ state }: FoundVersion, kind: string, key: string): void {
  if (state.kind !== kind)
    throw refusal(
      `${key}: the template \`${state.id}\` is a ${state.kind}, not a ${kind}`,
      `name a ${kind}`,
    );
}

function detailsOf(
  { streams, contributes, warnings }: Composed,
  sink: FoundVersion,
  overlay: ChosenOverlay | undefined,
): Partial<TemplateRun> {
  return {
    streams: streams.map((stream) => ({
      ...stream,
      requested: [...stream.requested],
      key: [...stream.key],
    })),
    sink_template: sink.state.id,
    sink_template_version: sink.version.version,
    ...(overlay === undefined
      ? {}
      : {
          overlay: overlay.found?.state.id ?? 'inline',
          ...(overlay.found === undefined
            ? {}
            : { overlay_version: overlay.found.version.version }),
          overlay_contributes: [...contributes],
        }),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}

function submissionOf(
  { state, version }: FoundVersion,
  { config, config_format, secrets, details }: Chosen,
  request: RunTemplate,
  paramsAreData?: true,
): { readonly submission: Submission; readonly how: How } {
  const {
    params,
    env,
    version: _version,
    sink: _sink,
    sink_version: _sinkVersion,
    overlay: _overlay,
    overlay_version: _overlayVersion,
    labels,
    ...settings
  } = request;
  const origin = {
    template: state.id,
    template_version: version.version,
    sink_template: details.sink_template,
    sink_template_version: details.sink_template_version,
    overlay: details.overlay,
    overlay_version: details.overlay_version,
  };
  const originLabels = Object.entries(origin).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  const given = (params ?? {}) as Readonly<Record<string, JsonValue>>;
  return {
    submission: {
      ...settings,
      config,
      config_format,
      labels: { ...labels, ...Object.fromEntries(originLabels) },
    },
    // Without values of its own the run is one of a document that may be prepared already.
    how:
      hasNone(given) && hasNone(env) && secrets.length === 0
        ? {}
        : {
            bound: {
              params: { ...given },
              env: { ...env },
              ...(paramsAreData === undefined ? {} : { params_are_data: paramsAreData }),
              secretParams: secrets,
            },
          },
  };
}

function hasNone(values: object | null | undefined): boolean {
  return Object.keys(values ?? {}).length === 0;
}

function secretsIn(params: JsonValue): string[] {
  if (!isObject(params)) return [];
  return Object.keys(params).filter((name) => {
    const entry = params[name];
    return isObject(entry) && entry['secret'] === true;
  });
}

function deprecationNotes({ state, version }: FoundVersion): string[] {
  const ofTemplate = state.deprecation;
  const ofVersion = deprecationOf(state, version.version);
  return [
    ...(ofTemplate === undefined
      ? []
      : [ofTemplate.reason ?? `the template \`${state.id}\` is deprecated`]),
    ...(ofVersion === undefined
      ? []
      : [
          `v${version.version} is deprecated${ofVersion.reason === undefined ? '' : `: ${ofVersion.reason}`}`,
        ]),
  ];
}

function textOf({ version }: FoundVersion): {
  readonly body: string;
  readonly format: 'yaml' | 'json';
} {
  return { body: version.body, format: version.format };
}

function refusal(message: string, hint: string): RefusedError {
  return new RefusedError('unprocessable', message, { hint });
}

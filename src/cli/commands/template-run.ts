import { completionOf, DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXECUTE_OPTIONS, executePlan } from '../documents/execute-plan.ts';
import {
  ID_ARGUMENT,
  STORE_OPTIONS,
  VERSION_OPTION,
  withTemplates,
} from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import { usageError } from '../framework/exit.ts';
import { textOption } from '../framework/option.ts';
import { SELECTION_OPTIONS } from '../framework/shared-options.ts';

const { store } = STORE_OPTIONS;
const { param, paramEnv } = DOCUMENT_OPTIONS;

export const templateRunCommand = defineCommand({
  name: 'template run',
  summary: 'Run a template in this process.',
  description:
    'A pipeline runs as it is; a source template needs `--sink`, and takes `--overlay`. Nothing of the run is recorded in the store; `headgate submit --template ID` has a server run it.',
  arguments: [ID_ARGUMENT],
  options: {
    version: VERSION_OPTION('Number or channel; `stable` by default.'),
    sink: textOption({ value: 'ID', description: 'Sink template that it is written with.' }),
    sinkVersion: VERSION_OPTION('Its version; `stable` by default.'),
    overlay: textOption({ value: 'ID', description: 'Deployment that is laid over it.' }),
    overlayVersion: VERSION_OPTION('Its version; `stable` by default.'),
    param,
    paramEnv,
    ...EXECUTE_OPTIONS,
    ...SELECTION_OPTIONS,
    store,
  },
  examples: [
    {
      command: 'headgate template run orders --param day=2026-01-31',
      description: 'A pipeline with a parameter',
    },
    {
      command: 'headgate template run acme/billing --sink warehouse --dry-run',
      description: 'A pair of templates; look first',
    },
  ],
  async run(context, { options, positionals: [id] }) {
    if (id === undefined) throw usageError('say which template', 'see `headgate template list`');
    const { version, sink, sinkVersion, overlay, overlayVersion } = options;
    const chosen = await withTemplates(context, options, (templates, signal) =>
      templates.choose(
        id,
        { version, sink, sink_version: sinkVersion, overlay, overlay_version: overlayVersion },
        signal,
      ),
    );
    const { deprecated, warnings = [] } = chosen.details;
    for (const note of [...(deprecated === undefined ? [] : [deprecated]), ...warnings])
      context.terminal.note(`warning: ${note}`);
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { params = {}, paramEnv: variables = {} } = completionOf(
      { param: options.param, paramEnv: options.paramEnv, profile: undefined },
      context.env.variables,
    );
    const loaded = await loadPlan(context, {
      config: undefined,
      selection: options,
      given: {
        name: id,
        text: chosen.config,
        format: chosen.config_format,
        binding: { params, paramEnv: variables },
      },
    });
    return executePlan(context, loaded, options);
  },
});

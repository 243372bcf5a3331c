import { LOG_LEVELS } from '../../lib/log.ts';
import { VARIABLES } from '../../lib/variables.ts';
import { choiceOption, listOption, switchOption, textOption } from './option.ts';
import { rowIds, rowTags } from './offers.ts';
import type { ArgumentDefinition } from './command.ts';

/** Understood by every command, before or after its name. */
export const SHARED_OPTIONS = {
  envFile: textOption({
    value: 'FILE',
    completes: 'file',
    description:
      'File with environment variables to load (default: `.env`, if it exists). Variables that are already set win.',
  }),
  noEnvFile: switchOption({ description: 'Do not load `.env`.' }),
  logLevel: choiceOption({
    value: 'LEVEL',
    choices: LOG_LEVELS,
    default: 'info',
    env: VARIABLES.log,
    description: 'Lowest level that is logged.',
  }),
  allowConnector: listOption({
    value: 'NAME',
    env: VARIABLES.allowConnectors,
    description:
      'Installed package whose connector documents may use as `type: npm:NAME`. It runs as a part of this program, with all its rights.',
  }),
};

export const CONFIG_ARGUMENT: ArgumentDefinition = {
  name: 'config',
  completes: 'file',
  description:
    'The pipeline document. Default: `headgate.yaml`, `headgate.yml` or `headgate.json` in the current folder.',
};

/** How a command that finds something prints it. */
export const OUTPUT_OPTION = choiceOption({
  value: 'FORMAT',
  choices: ['text', 'json'],
  default: 'text',
  description: 'Print for people, or one JSON document.',
});

/** Which rows of the matrix take part. */
export const SELECTION_OPTIONS = {
  select: listOption({
    value: 'ID',
    offers: rowIds,
    env: VARIABLES.select,
    description: 'Run this matrix row, whatever its status.',
  }),
  only: listOption({
    value: 'GLOB',
    offers: rowIds,
    env: VARIABLES.only,
    description:
      'Run the matrix rows whose id matches (`*` matches any text), whatever their status.',
  }),
  skip: listOption({
    value: 'GLOB',
    offers: rowIds,
    env: VARIABLES.skip,
    description: 'Skip the matrix rows whose id matches.',
  }),
  status: listOption({
    value: 'TIER',
    offers: () => Promise.resolve(['available', 'draft', 'archived']),
    env: VARIABLES.status,
    description: 'Also run matrix rows of this status.',
  }),
  tag: listOption({
    value: 'TAG',
    offers: rowTags,
    env: VARIABLES.tags,
    description: 'Run only matrix rows with this tag.',
  }),
  includeParents: textOption({
    value: 'POLICY',
    offers: () => Promise.resolve(['off', 'eligible', 'all']),
    env: VARIABLES.includeParents,
    description: 'Whether to add rows that the selected ones depend on: off, eligible or all.',
  }),
};

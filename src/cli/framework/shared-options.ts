import { LOG_LEVELS } from '../../lib/log.ts';
import { VARIABLES } from '../../lib/variables.ts';
import { choiceOption, listOption, switchOption, textOption } from './option.ts';
import type { ArgumentDefinition } from './command.ts';

/** Understood by every command, before or after its name. */
export const SHARED_OPTIONS = {
  envFile: textOption({
    value: 'FILE',
    completes: 'file',
    description:
      'Variables to load first (default: `.env` when there is one). Variables that are already set win.',
  }),
  noEnvFile: switchOption({ description: 'Do not load `.env`.' }),
  logLevel: choiceOption({
    value: 'LEVEL',
    choices: LOG_LEVELS,
    default: 'info',
    env: VARIABLES.log,
    description: 'Least important level to log.',
  }),
};

export const CONFIG_ARGUMENT: ArgumentDefinition = {
  name: 'config',
  completes: 'file',
  description:
    'The pipeline document. Without one: `headgate.yaml`, `headgate.yml` or `headgate.json` in the current folder.',
};

/** Which rows of the matrix take part. */
export const SELECTION_OPTIONS = {
  select: listOption({
    value: 'ID',
    env: VARIABLES.select,
    description: 'Run this row, whatever its status.',
  }),
  only: listOption({
    value: 'GLOB',
    env: VARIABLES.only,
    description: 'Run the rows whose id matches (`*` stands for anything), whatever their status.',
  }),
  skip: listOption({
    value: 'GLOB',
    env: VARIABLES.skip,
    description: 'Leave out a row id, or the rows that match.',
  }),
  status: listOption({
    value: 'TIER',
    env: VARIABLES.status,
    description: 'Also run rows of this status.',
  }),
  tag: listOption({
    value: 'TAG',
    env: VARIABLES.tags,
    description: 'Run only rows with this tag.',
  }),
  includeParents: textOption({
    value: 'POLICY',
    env: VARIABLES.includeParents,
    description: 'Whether rows that the selected ones need are added: off, eligible or all.',
  }),
};

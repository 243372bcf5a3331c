/** What is added to a document from outside: its profile and its parameters. */
import type { Binding } from '../../document/params/bind-params.ts';
import { VARIABLES } from '../../lib/variables.ts';
import { usageError } from '../framework/exit.ts';
import { paramNames, profileNames, type Offers } from '../framework/offers.ts';
import type { Given, Option, Values } from '../framework/option.ts';

type Variables = Readonly<Record<string, string | undefined>>;
type Assignments = ReadonlyMap<string, string | undefined>;

const profileOption: Option<string | undefined> = {
  value: 'NAME',
  offers: profileNames,
  env: VARIABLES.profile,
  description: 'Apply this overlay of `profiles`.',
  read: (given) => {
    const name = given?.texts.at(-1);
    if (name === '' && given?.from.startsWith('--') === true)
      throw usageError(`${given.from} must not be empty`);
    return name === '' ? undefined : name;
  },
};

export const DOCUMENT_OPTIONS = {
  profile: profileOption,
  param: assignmentsOption(
    {
      value: 'NAME=VALUE',
      description: 'Value of a parameter of the document.',
      offers: paramNames,
    },
    'with value',
  ),
  paramEnv: assignmentsOption(
    {
      value: 'NAME[=VALUE]',
      description:
        'Environment variable for this document only; without a value it is taken from the environment.',
    },
    'value optional',
  ),
};

export interface Completion extends Binding {
  readonly profile?: string;
}

/** What the options say, for loading. Variables without a value are taken from the caller's. */
export function completionOf(
  options: Values<typeof DOCUMENT_OPTIONS>,
  variables: Variables,
): Completion {
  const { profile } = options;
  const overlay = [...options.paramEnv].map(
    ([name, value]) => [name, value ?? callersValue(name, variables)] as const,
  );
  return {
    ...(profile === undefined ? {} : { profile }),
    params: Object.fromEntries([...options.param].map(([name, value]) => [name, value ?? ''])),
    paramEnv: Object.fromEntries(overlay),
  };
}

function callersValue(name: string, variables: Variables): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value !== undefined) return value;
  throw usageError(
    `--param-env ${name}: there is no such variable`,
    `set it, or write \`--param-env ${name}=VALUE\``,
  );
}

function assignmentsOption(
  about: { readonly value: string; readonly description: string; readonly offers?: Offers },
  form: 'with value' | 'value optional',
): Option<Assignments> {
  return { ...about, repeatable: true, read: (given) => readAssignments(given, form) };
}

/** Messages do not show values: they may be secret. */
function readAssignments(
  given: Given | undefined,
  form: 'with value' | 'value optional',
): Assignments {
  const assignments = new Map<string, string | undefined>();
  if (given === undefined) return assignments;
  for (const text of given.texts) {
    const equals = text.indexOf('=');
    const name = equals === -1 ? text : text.slice(0, equals);
    if (name === '')
      throw usageError(`${given.from} has no name`, `write \`${given.from} NAME=VALUE\``);
    if (equals === -1 && form === 'with value')
      throw usageError(`${given.from} has no value`, `write \`${given.from} NAME=VALUE\``);
    if (assignments.has(name)) throw usageError(`${given.from} is given twice for ${name}`);
    assignments.set(name, equals === -1 ? undefined : text.slice(equals + 1));
  }
  return assignments;
}

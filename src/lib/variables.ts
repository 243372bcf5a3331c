/**
 * Environment variables that configure Headgate itself. Each has a name that starts with
 * `HEADGATE_`, which help and docs show first. The names of the specification, `SVC_…` and
 * `FAUCET_…`, stay accepted: scripts and dashboards from elsewhere use them.
 */
import { AppError } from './errors.ts';

/** Names of one variable, the one to show first. */
export type Variable = readonly [string, ...string[]];

export type Variables = Readonly<Record<string, string | undefined>>;

/** `variable('LOG')` is `HEADGATE_LOG`, or `SVC_LOG`. */
export function variable(name: string, others: readonly string[] = [`SVC_${name}`]): Variable {
  return [`HEADGATE_${name}`, ...others];
}

export const VARIABLES = {
  allowConnectors: variable('ALLOW_CONNECTORS', []),
  azureKeyVaultUrl: variable('AZURE_KEYVAULT_URL'),
  includeParents: variable('INCLUDE_PARENTS', ['FAUCET_INCLUDE_PARENTS', 'SVC_INCLUDE_PARENTS']),
  localOutputGraceSecs: variable('LOCAL_SINK_OUTPUT_IN_FLIGHT_GRACE_SECS'),
  localOutputRetentionDays: variable('LOCAL_SINK_OUTPUT_RETENTION_DAYS'),
  log: variable('LOG'),
  only: variable('ONLY'),
  profile: variable('PROFILE', ['FAUCET_PROFILE', 'SVC_PROFILE']),
  select: variable('SELECT'),
  server: variable('SERVER', []),
  skip: variable('SKIP'),
  status: variable('STATUS'),
  tags: variable('TAGS'),
  templateStore: variable('TEMPLATE_STORE'),
  token: variable('TOKEN', []),
} as const;

export interface FoundVariable {
  readonly text: string;
  /** The name that is set. */
  readonly name: string;
}

/**
 * The value under any of the names; an empty one counts only when no other is set. Throws when our
 * name and another are set to different values: of two that differ nobody can tell which was meant.
 */
export function findVariable(names: Variable, variables: Variables): FoundVariable | undefined {
  const found = names.flatMap((name) => {
    const text = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return text === undefined ? [] : [{ name, text }];
  });
  const [first, second] = found.filter(({ text }) => text !== '');
  if (first?.name === names[0] && second !== undefined && second.text !== first.text) {
    throw new AppError(
      'bad_option',
      `the variables ${first.name} and ${second.name} are two names of one setting, and their values differ`,
      { hint: `unset ${second.name}` },
    );
  }
  return first ?? found[0];
}

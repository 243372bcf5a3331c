/**
 * Options as data: one declaration gives parsing, environment variable, help, shell completion and
 * reference page.
 */
import { AppError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { findVariable, variable, type Variable, type Variables } from '../../lib/variables.ts';
import { parseWhole } from '../../lib/whole-number.ts';
import { usageError } from './exit.ts';
import type { Offers } from './offers.ts';

/** Raw texts of an option and where they came from, for messages: `--tag` or `HEADGATE_TAGS`. */
export interface Given {
  readonly texts: readonly string[];
  readonly from: string;
}

export interface Option<T> {
  readonly description: string;
  /** One letter: `o` for `-o`. */
  readonly short?: string;
  /** Name of the value in help; absent for switches. */
  readonly value?: string;
  readonly env?: Variable;
  /** Keys of options that cannot be given together with this one. */
  readonly conflicts?: readonly string[];
  /** As help prints it. */
  readonly defaultText?: string;
  readonly choices?: readonly string[];
  readonly repeatable?: boolean;
  /** What a shell offers for the value. */
  readonly completes?: 'file' | 'directory';
  readonly offers?: Offers;
  /** Recognised only to be refused; left out of help. */
  readonly refused?: boolean;
  /** Its value lets somebody in: no document may read its variables. */
  readonly credential?: boolean;
  read(given: Given | undefined): T;
}

export type Options = Readonly<Record<string, Option<unknown>>>;

/** What a command gets for its options. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
};

/** The flag of an option's key: `statePath` is written `--state-path`. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

interface Described {
  readonly description: string;
  readonly short?: string;
  readonly env?: Variable;
  readonly conflicts?: readonly string[];
  readonly credential?: boolean;
}

export function switchOption(about: Described): Option<boolean> {
  return { ...about, read: (given) => (given === undefined ? false : readSwitch(given)) };
}

interface Valued<D> extends Described {
  readonly value: string;
  readonly default?: D;
  /** Printed instead of the default, when that depends on the machine. */
  readonly defaultText?: string;
  readonly completes?: 'file' | 'directory';
  readonly offers?: Offers;
}

export function textOption<D extends string | undefined = undefined>(
  about: Valued<D>,
): Option<string | D> {
  return valued(about, (text, from) => {
    if (text === '') throw usageError(`${from} must not be empty`);
    return text;
  });
}

export function integerOption<D extends number | undefined = undefined>(
  about: Valued<D> & { readonly min?: number; readonly max?: number },
): Option<number | D> {
  const min = about.min ?? 0;
  const max = about.max ?? Number.MAX_SAFE_INTEGER;
  return valued(about, (text, from) => {
    const number = Number(parseWhole(text.trim()) ?? Number.NaN);
    if (number >= min && number <= max) return number;
    // Where nobody has set a bound, more than can be counted is no other wish than all.
    if (about.max === undefined && number > max) return max;
    const range = about.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
    throw usageError(`${from} must be a whole number ${range}, got ${JSON.stringify(text)}`);
  });
}

export function choiceOption<const C extends string>(
  about: Valued<NoInfer<C>> & { readonly choices: readonly C[]; readonly default: NoInfer<C> },
): Option<C> {
  return valued<C, C>(about, (text, from) => {
    const choice = about.choices.find((one) => one === text);
    if (choice !== undefined) return choice;
    throw usageError(`${from} cannot be ${JSON.stringify(text)}`, suggestion(text, about.choices));
  });
}

/**
 * May be given several times; its variable holds a comma-separated list. Repeated values count
 * once.
 */
export function listOption(
  about: Described & {
    readonly value: string;
    readonly choices?: readonly string[];
    readonly completes?: 'file' | 'directory';
    readonly offers?: Offers;
  },
): Option<readonly string[]> {
  return {
    ...about,
    repeatable: true,
    read: (given) => {
      if (given === undefined) return [];
      if (given.texts.includes('')) throw usageError(`${given.from} must not be empty`);
      return [...new Set(given.texts)];
    },
  };
}

/**
 * An option of the interface that this version does not have: refused with a message, never
 * ignored.
 */
export function unavailableOption(feature: string, value?: string): Option<undefined> {
  return {
    description: feature,
    ...(value === undefined ? {} : { value }),
    refused: true,
    read: (given) => {
      if (given === undefined || (value === undefined && !readSwitch(given))) return undefined;
      throw new AppError(
        'not_available',
        `${given.from} is not available: this version has no ${feature}`,
      );
    },
  };
}

/** Gives every option the variable `{prefix}_{FLAG}` unless it names its own. */
export function withVariables<O extends Options>(prefix: string, options: O): O {
  const named = Object.entries(options).map(([key, option]) => [
    key,
    {
      env: variable(`${prefix}_${flagOf(key).slice(2).replaceAll('-', '_').toUpperCase()}`),
      ...option,
    },
  ]);
  // Same keys, same values: only `env` was added.
  return Object.fromEntries(named) as O;
}

/** Every name under which a variable may hold a credential. */
export function credentialVariables(options: Options): readonly string[] {
  return Object.values(options).flatMap(({ credential, env }) =>
    credential === true ? (env ?? []) : [],
  );
}

/** What the command line gave, else the environment variable, else nothing. */
export function givenFor(
  key: string,
  option: Option<unknown>,
  flags: ReadonlyMap<string, readonly string[]>,
  variables: Variables,
): Given | undefined {
  const texts = flags.get(key);
  if (texts !== undefined) return { texts, from: flagOf(key) };
  const found = option.env === undefined ? undefined : findVariable(option.env, variables);
  if (found === undefined) return undefined;
  const { name: from, text } = found;
  if (option.repeatable === true) {
    const list = text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    return list.length === 0 ? undefined : { texts: list, from };
  }
  return { texts: [text], from };
}

/** The values of all options of a command. */
export function readOptions<O extends Options>(
  options: O,
  flags: ReadonlyMap<string, readonly string[]>,
  variables: Variables,
): Values<O> {
  const values = Object.entries(options).map(([key, option]) => [
    key,
    option.read(givenFor(key, option, flags, variables)),
  ]);
  // Every value was read by the option of its key.
  return Object.fromEntries(values) as Values<O>;
}

function valued<T, D>(about: Valued<D>, parse: (text: string, from: string) => T): Option<T | D> {
  const { default: fallback, ...rest } = about;
  const defaultText = about.defaultText ?? (fallback === undefined ? undefined : String(fallback));
  return {
    ...rest,
    ...(defaultText === undefined ? {} : { defaultText }),
    read: (given) => {
      const text = given?.texts.at(-1);
      // Without a default D is `undefined`.
      return given === undefined || text === undefined ? (fallback as D) : parse(text, given.from);
    },
  };
}

function readSwitch({ texts, from }: Given): boolean {
  const text = (texts.at(-1) ?? '').toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(text)) return true;
  if (['false', '0', 'no', 'off', ''].includes(text)) return false;
  throw usageError(`${from} must be true or false, got ${JSON.stringify(texts.at(-1))}`);
}

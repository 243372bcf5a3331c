/**
 * Commands as data. The list is `commands/index.ts`; parser, help, completions and the reference
 * page walk it.
 */
import type { CliContext } from './context.ts';
import type { Offers } from './offers.ts';
import type { Option, Options, Values } from './option.ts';

export interface ArgumentDefinition {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** Takes all that follow. */
  readonly variadic?: boolean;
  readonly choices?: readonly string[];
  readonly completes?: 'file' | 'directory';
  readonly offers?: Offers;
}

export interface Example {
  readonly command: string;
  readonly description: string;
}

export interface Input<O extends Options> {
  readonly options: Values<O>;
  readonly positionals: readonly string[];
}

export interface CommandDefinition<O extends Options> {
  /** One word, or two for the commands of a group: `dlq inspect`. */
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Paragraphs, for its own help. */
  readonly description: string;
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options: O;
  readonly examples: readonly Example[];
  /**
   * Gives the exit code; throws what a user should read. Heavy modules are imported inside, so that
   * help stays fast.
   */
  run(context: CliContext, input: Input<O>): Promise<number>;
}

/** A command in a list: what its options hold is known only inside. */
export interface Command extends Omit<CommandDefinition<Options>, 'run'> {
  run(
    context: CliContext,
    input: {
      readonly options: Readonly<Record<string, unknown>>;
      readonly positionals: readonly string[];
    },
  ): Promise<number>;
}

export function defineCommand<O extends Options>(definition: CommandDefinition<O>): Command {
  return Object.freeze({
    ...definition,
    // The values were read by these very options.
    run: (
      context: CliContext,
      input: {
        readonly options: Readonly<Record<string, unknown>>;
        readonly positionals: readonly string[];
      },
    ) =>
      definition.run(context, {
        options: input.options as Values<O>,
        positionals: input.positionals,
      }),
  });
}

/** The first words of two-word names, each with its commands. */
export function groupsOf(commands: readonly Command[]): ReadonlyMap<string, readonly Command[]> {
  return Map.groupBy(
    commands.filter(({ name }) => name.includes(' ')),
    ({ name }) => name.split(' ')[0] ?? name,
  );
}

/** Options and their keys, without those that are only refused. */
export function shownOptions(options: Options): readonly (readonly [string, Option<unknown>])[] {
  return Object.entries(options).filter(([, option]) => option.refused !== true);
}

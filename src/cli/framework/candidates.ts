/** What may stand where somebody is typing, for the completion scripts of shells. */
import { groupsOf, shownOptions, type ArgumentDefinition, type Command } from './command.ts';
import { firstWords } from './completions.ts';
import type { Typed } from './offers.ts';
import { flagOf, type Option } from './option.ts';
import { SHARED_OPTIONS } from './shared-options.ts';

/** A word and what it means; or an instruction to offer files or folders. */
export type Candidate =
  | { readonly word: string; readonly description?: string }
  | { readonly files: 'file' | 'directory' };

/** `before` are the words behind the name of the program; `current` is the one that is typed. */
export async function candidatesOf(
  surroundings: Pick<Typed, 'cwd' | 'parts'>,
  commands: readonly Command[],
  { before, current }: { readonly before: readonly string[]; readonly current: string },
): Promise<readonly Candidate[]> {
  const { words, partial } = joined(before, current);
  const line = readWords(words, commands);
  const all = await offersFor(surroundings, commands, line, partial);
  return all.filter((one) => 'files' in one || one.word.startsWith(partial));
}

/** Bash cuts words at `=`: `--profile=dev` comes as three. */
function joined(
  before: readonly string[],
  current: string,
): { readonly words: readonly string[]; readonly partial: string } {
  const [flag, value] = splitFlag(current);
  if (value !== undefined) return { words: [...before, flag], partial: value };
  const words = before.filter((word, index) => word !== '=' || !isFlag(before[index - 1]));
  return current === '=' && isFlag(before.at(-1))
    ? { words, partial: '' }
    : { words, partial: current };
}

function isFlag(word: string | undefined): boolean {
  return word?.startsWith('--') === true;
}

function splitFlag(word: string): readonly [string, string | undefined] {
  const cut = isFlag(word) ? word.indexOf('=') : -1;
  return cut === -1 ? [word, undefined] : [word.slice(0, cut), word.slice(cut + 1)];
}

interface Line {
  readonly command: Command | undefined;
  /** The first word of a group whose second is missing. */
  readonly group: readonly Command[] | undefined;
  readonly positionals: readonly string[];
  readonly given: ReadonlyMap<string, string>;
  /** The option whose value comes next. */
  readonly open: Option<unknown> | undefined;
}

function readWords(words: readonly string[], commands: readonly Command[]): Line {
  const given = new Map<string, string>();
  const plain: string[] = [];
  let open: string | undefined;
  const optionOf = (flag: string): Option<unknown> | undefined =>
    optionsOf(commandOf(plain, commands)).find((one) => one.flag === flag)?.option;
  for (const word of words) {
    const [flag, value] = splitFlag(word);
    if (open !== undefined) {
      given.set(open, word);
      open = undefined;
    } else if (!word.startsWith('-')) plain.push(word);
    else if (value !== undefined) given.set(flag, value);
    else if (optionOf(flag)?.value !== undefined) open = flag;
  }
  const command = commandOf(plain, commands);
  const group = plain.length === 1 ? groupsOf(commands).get(plain[0] ?? '') : undefined;
  return {
    command,
    group: command === undefined ? group : undefined,
    positionals: plain.slice(command?.name.split(' ').length ?? 1),
    given,
    open: open === undefined ? undefined : optionOf(open),
  };
}

function commandOf(plain: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => plain.slice(0, name.split(' ').length).join(' ') === name);
}

function optionsOf(
  command: Command | undefined,
): readonly { readonly flag: string; readonly option: Option<unknown> }[] {
  return [...shownOptions(command?.options ?? {}), ...shownOptions(SHARED_OPTIONS)].map(
    ([key, option]) => ({ flag: flagOf(key), option }),
  );
}

async function offersFor(
  surroundings: Pick<Typed, 'cwd' | 'parts'>,
  commands: readonly Command[],
  line: Line,
  partial: string,
): Promise<readonly Candidate[]> {
  const { command, group, positionals, given, open } = line;
  const typed = { ...surroundings, positionals, given };
  if (open !== undefined) return valuesOf(open, typed);
  if (partial.startsWith('-')) return flagsFor(line);
  if (group !== undefined)
    return group.map(({ name, summary }) => ({
      word: name.split(' ')[1] ?? '',
      description: summary,
    }));
  if (command === undefined)
    return positionals.length === 0
      ? firstWords(commands).map(({ name, summary }) => ({ word: name, description: summary }))
      : [];
  const argument = argumentAt(command, positionals.length);
  const values = argument === undefined ? [] : await valuesOf(argument, typed);
  // Flags where nothing else can stand, so that a shell does not bury files under them.
  return values.length > 0 ? values : flagsFor(line);
}

/** Those that were not given yet, unless they may be repeated. */
function flagsFor({ command, given }: Line): Candidate[] {
  const flags = optionsOf(command)
    .filter(({ flag, option }) => option.repeatable === true || !given.has(flag))
    .map(({ flag, option }) => ({ word: flag, description: option.description }));
  return [...flags, { word: '--help', description: 'Help for the command.' }];
}

function argumentAt(
  { arguments: all = [] }: Command,
  index: number,
): ArgumentDefinition | undefined {
  const last = all.at(-1);
  return all[index] ?? (last?.variadic === true ? last : undefined);
}

async function valuesOf(
  { choices, completes, offers }: Pick<Option<unknown>, 'choices' | 'completes' | 'offers'>,
  typed: Typed,
): Promise<Candidate[]> {
  const words: Candidate[] = (choices ?? []).map((word) => ({ word }));
  for (const word of (await offers?.(typed)) ?? []) words.push({ word });
  return completes === undefined ? words : [...words, { files: completes }];
}

/** One line each; what stands behind the tab is for people. */
export function printedCandidate(candidate: Candidate): string {
  if ('files' in candidate) return `:${candidate.files}`;
  const { word, description = '' } = candidate;
  return description === '' ? word : `${word}\t${description.replaceAll(/\s+/g, ' ')}`;
}

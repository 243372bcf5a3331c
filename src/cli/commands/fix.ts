import { count, thousands } from '../../lib/text/count.ts';
import { lineDiff } from '../../lib/text/line-diff.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { Look } from '../../features/fix/look.ts';
import type { Mending, MendedRow } from '../documents/mend-document.ts';
import { replaceFile } from '../documents/replace-file.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, listOption, switchOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';
import { CONFIG_ARGUMENT, OUTPUT_OPTION } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';

export const fixCommand = defineCommand({
  name: 'fix',
  summary: 'Find what records a document stumbles over, and a change that mends it.',
  description:
    'For a run that failed. Reads the first records again, up to the sink, and shows the three values that stop most records, with their places. ' +
    'Then it tries changes of the document: how the file is read (encoding, delimiter, lines above the table, header), names that are nearly right, ' +
    'texts that mean no value, commas in numbers, and at last putting aside what remains. Only changes that help are proposed, as a diff, with what they do to the records.\n\n' +
    'Nothing is written without `--apply`; comments of the document stay. What a destination refuses is not looked at: `dlq inspect` shows that.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    row: listOption({ value: 'ID', offers: rowIds, description: 'Only this row.' }),
    limit: integerOption({
      value: 'N',
      min: 1,
      max: 100_000,
      default: 5000,
      description: 'Records to look at.',
    }),
    apply: switchOption({ description: 'Write the change into the document.' }),
    output: OUTPUT_OPTION,
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate fix orders.yaml', description: 'What is wrong, and what would help' },
    { command: 'headgate fix orders.yaml --apply', description: 'Change the document' },
  ],
  async run(context, { options, positionals: [config] }) {
    const { mendDocument } = await import('../documents/mend-document.ts');
    using stops = listenForStop(context.world, 'cancel', () => {});
    const { row: rows, limit } = options;
    const request = { config, completion: options, rows, limit, signal: stops.signal };
    const mending = await mendDocument(context, request);
    const isChanged = mending.after !== mending.before;
    const isApplied = options.apply && isChanged;
    if (isApplied) await replaceFile(mending.file, mending.after);
    const { worstOf } = await import('../../features/fix/propose.ts');
    const diff = isChanged ? lineDiff(mending.before.split('\n'), mending.after.split('\n')) : [];
    const report = { mending, diff, isApplied, worst: (look: Look) => worstOf(look.faults, SHOWN) };
    if (options.output === 'json') context.terminal.json(document(context, report));
    else print(context, report);
    const isRight = isApplied || !isChanged;
    return isRight && mending.rows.every((one) => goesOn(one, mending)) ? EXIT.ok : EXIT.failed;
  },
});

const SHOWN = 3;
const MOST_LETTERS = 60;

interface Report {
  readonly mending: Mending;
  readonly diff: readonly string[];
  readonly isApplied: boolean;
  readonly worst: (
    look: Look,
  ) => ReturnType<(typeof import('../../features/fix/propose.ts'))['worstOf']>;
}

function goesOn({ after }: MendedRow, { putsAside }: Mending): boolean {
  return after.fatal === undefined && (after.faults.length === 0 || putsAside);
}

function print({ terminal, world }: CliContext, { mending, diff, isApplied, worst }: Report): void {
  for (const { row, before } of mending.rows) {
    terminal.print(`${terminal.ink('bold', row)}  ${lookText(before)}`);
    for (const { fault, count: records } of worst(before)) {
      const value = fault.value === undefined ? 'a value' : short(fault.value);
      const stage = fault.stage === 'source' ? '' : ` (${fault.stage})`;
      const more = records === 1 ? '' : `, and ${count(records - 1, 'record')} more`;
      terminal.print(`    ${terminal.ink('red', value)}  ${fault.message}${stage}${more}`);
    }
  }
  if (diff.length === 0) {
    const isRight = mending.rows.every((one) => goesOn(one, mending));
    terminal.note(isRight ? 'nothing to mend in these records' : 'no change was found that helps');
  } else {
    terminal.print('');
    for (const reason of mending.reasons) terminal.print(`because ${reason}`);
    for (const line of diff) terminal.print(inked(terminal, line));
    terminal.print('');
    for (const one of mending.rows) printEffect(terminal, one);
  }
  for (const reason of mending.elsewhere)
    terminal.note(
      `a change belongs to another file, which this one includes or extends: ${reason}`,
    );
  const name = shortPath(mending.file, world.cwd);
  if (isApplied) terminal.note(`wrote ${name}`);
  else if (diff.length > 0) terminal.note(`nothing is written: \`--apply\` changes ${name}`);
}

function inked(terminal: CliContext['terminal'], line: string): string {
  if (line.startsWith('+')) return terminal.ink('green', line);
  return line.startsWith('-') ? terminal.ink('red', line) : line;
}

function printEffect(terminal: CliContext['terminal'], { row, before, after }: MendedRow): void {
  terminal.print(`${terminal.ink('bold', row)}  before: ${lookText(before)}`);
  const changed = firstChanged(before, after);
  printRecord(terminal, before.output[changed]);
  terminal.print(`${' '.repeat(row.length)}  after:  ${lookText(after)}`);
  printRecord(terminal, after.output[changed]);
}

/** Index of the first record that reaches the sink otherwise than before. */
function firstChanged(before: Look, after: Look): number {
  const index = after.output.findIndex((record, at) => {
    const old = before.output[at];
    return old === undefined || stringifyJson(old) !== stringifyJson(record);
  });
  return Math.max(index, 0);
}

function printRecord(terminal: CliContext['terminal'], record: JsonValue | undefined): void {
  if (record !== undefined) terminal.print(`    ${stringifyJson(record)}`);
}

function lookText({ read, faults, fatal }: Look): string {
  const looked = `${count(read, 'record')} read`;
  if (fatal !== undefined) return `${looked}, and then: ${fatal}`;
  return faults.length === 0
    ? `${looked}, all go on`
    : `${looked}, ${thousands(faults.length)} cannot go on`;
}

function short(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

function document(
  { world }: CliContext,
  { mending, diff, isApplied, worst }: Report,
): Record<string, unknown> {
  const { file, rows, reasons, after, before, putsAside } = mending;
  const lookDocument = (look: Look) => ({
    records: look.read,
    cannot_go_on: look.faults.length,
    fatal: look.fatal ?? null,
    output: look.output.slice(0, SHOWN),
  });
  return {
    config: shortPath(file, world.cwd),
    rows: rows.map((one) => ({
      row: one.row,
      before: lookDocument(one.before),
      worst: worst(one.before).map(({ fault, count: records }) => ({
        stage: fault.stage,
        field: fault.field ?? null,
        ...(fault.value === undefined ? {} : { value: fault.value }),
        place: fault.place === '' ? null : fault.place,
        message: fault.message,
        records,
      })),
      after: lookDocument(one.after),
    })),
    patch: before === after ? null : { reasons, diff, puts_aside: putsAside, applied: isApplied },
  };
}

import type { ClauseResult, SuiteResult } from '../../conformance/hold-connector.ts';
import { count } from '../../lib/text/count.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { listOption, switchOption } from '../framework/option.ts';
import type { Terminal } from '../render/render.ts';

export const conformanceCommand = defineCommand({
  name: 'conformance',
  summary: 'Hold a connector to the contract of sources and sinks.',
  description:
    'Runs every clause that the connectors of this program are held to over a connector from elsewhere, and prints which it keeps. ' +
    'The module `conformance` of its package says how to try it: configs, the records that are then read, a way to look at what was written.\n\n' +
    'The exit code is 0 when nothing is broken and every part was tried. The connector is loaded as a part of this program.',
  arguments: [
    {
      name: 'connector',
      required: true,
      completes: 'directory',
      description: 'The folder of its package, or `npm:` and the name of an installed one.',
    },
  ],
  options: {
    clause: listOption({ value: 'NAME', description: 'Only this clause.' }),
    json: switchOption({ description: 'Print one JSON document.' }),
  },
  examples: [
    { command: 'headgate conformance ./my-connector', description: 'A connector that you write' },
    { command: 'headgate conformance npm:some-connector', description: 'One that is installed' },
  ],
  async run({ terminal, wiring, world }, { options, positionals: [target = ''] }) {
    const { openTarget } = await import('../../packages/connector-target.ts');
    const { CLAUSE_NAMES, holdConnector } = await import('../../conformance/hold-connector.ts');
    for (const clause of options.clause)
      if (!CLAUSE_NAMES.has(clause))
        throw usageError(`there is no clause \`${clause}\``, suggestion(clause, [...CLAUSE_NAMES]));
    const opened = openTarget(target, world.cwd);
    const { name, connector } = opened;
    const { sources } = await wiring.parts();
    const suites: SuiteResult[] = [];
    const results = holdConnector({
      connector,
      ...opened.fixtures(),
      tools: {
        sources: [...sources.all, ...(connector.source === undefined ? [] : [connector.source])],
        writer: { entry: wiring.writerEntry(), words: [target, world.cwd] },
      },
      ...(options.clause.length === 0
        ? {}
        : { only: (clause: string) => options.clause.includes(clause) }),
    });
    for await (const suite of results) {
      if (suite.clauses.length === 0 && suite.missing === undefined) continue;
      suites.push(suite);
      if (!options.json) printSuite(terminal, suite);
    }
    const score = scoreOf(suites);
    if (options.json) terminal.json({ connector: name, ...score, suites });
    else
      terminal.print(
        suites.length === 0
          ? `${name}: no part was tried, none of them has ${options.clause.join(', ')}`
          : `${name}: ${count(score.kept, 'clause')} kept, ${score.broken} broken`,
      );
    return score.conforms ? EXIT.ok : EXIT.failed;
  },
});

interface Score {
  readonly conforms: boolean;
  readonly kept: number;
  readonly broken: number;
  readonly not_applicable: number;
}

function scoreOf(suites: readonly SuiteResult[]): Score {
  const all = suites.flatMap(({ clauses }) => clauses);
  const number = (outcome: ClauseResult['outcome']): number =>
    all.filter((clause) => clause.outcome === outcome).length;
  const broken = number('broken');
  return {
    conforms:
      broken === 0 && suites.length > 0 && suites.every(({ missing }) => missing === undefined),
    kept: number('kept'),
    broken,
    not_applicable: number('not_applicable'),
  };
}

function printSuite(terminal: Terminal, suite: SuiteResult): void {
  const { part, clauses, fixture, missing } = suite;
  const what = suite.suite === 'definition' ? `definition of the ${part}` : part;
  const named = fixture === undefined ? what : `${what} (${fixture})`;
  if (missing !== undefined) {
    terminal.print(`${named}: not tried, ${missing}`);
    return;
  }
  const numberOf = (outcome: ClauseResult['outcome']): number =>
    clauses.filter((clause) => clause.outcome === outcome).length;
  const apart = numberOf('not_applicable');
  const others = apart === 0 ? '' : `, ${apart} of no concern to it`;
  terminal.print(
    `${named}: keeps ${numberOf('kept')} of ${clauses.length - apart} clauses${others}`,
  );
  for (const { name, title, outcome, reason = '' } of clauses) {
    if (outcome !== 'broken') continue;
    terminal.print(`  broken  ${name}: it ${title}`);
    for (const line of reason.split('\n')) terminal.print(`          ${line}`);
  }
}

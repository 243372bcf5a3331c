/** A connector is held to every clause that concerns it, one after the other. */
import type { Connector } from '../kit/connector.ts';
import type { SinkFixture } from '../kit/sink-fixture.ts';
import type { SourceFixture } from '../kit/source-fixture.ts';
import { messageOf } from '../lib/errors.ts';
import { DEFINITION_CLAUSES } from './definition.ts';
import { holdTo as holdSinkTo, SINK_CLAUSES } from './sink/clauses.ts';
import type { SinkTools } from './sink/tools.ts';
import { holdTo as holdSourceTo, SOURCE_CLAUSES } from './source/clauses.ts';
import { within } from './source/subject.ts';

/** One suite over one part, with one fixture where the suite needs some. */
export interface SuiteResult {
  readonly part: 'source' | 'sink';
  readonly suite: 'definition' | 'contract';
  readonly fixture?: string;
  readonly clauses: readonly ClauseResult[];
  /** Why the suite says nothing: there are no fixtures, or what they need is not here. */
  readonly missing?: string;
}

export interface ClauseResult {
  readonly name: string;
  readonly title: string;
  readonly outcome: 'kept' | 'broken' | 'not_applicable';
  /** What was seen, or why the clause does not apply. */
  readonly reason?: string;
}

export interface Subjects {
  readonly connector: Connector;
  readonly sourceFixtures: readonly SourceFixture[];
  readonly sinkFixtures: readonly SinkFixture[];
  readonly tools: SinkTools;
  /** Only these of the clauses; all when it is absent. */
  readonly only?: (name: string) => boolean;
}

/** By which single clauses are asked for. */
export const CLAUSE_NAMES: ReadonlySet<string> = new Set(
  [...DEFINITION_CLAUSES, ...SOURCE_CLAUSES, ...SINK_CLAUSES].map(({ name }) => name),
);

/** A sink that needs longer for one clause is stuck. */
const CLAUSE_MS = 100_000;

export async function* holdConnector(subjects: Subjects): AsyncGenerator<SuiteResult> {
  const { source, sink } = subjects.connector;
  if (source !== undefined) {
    yield await definitionSuite('source', source, subjects);
    yield* suites(subjects.sourceFixtures, 'source', (fixture) =>
      resultsOf(SOURCE_CLAUSES, subjects, (clause) => holdSourceTo(clause, source, fixture)),
    );
  }
  if (sink !== undefined) {
    const { tools } = subjects;
    yield await definitionSuite('sink', sink, subjects);
    yield* suites(subjects.sinkFixtures, 'sink', (fixture) =>
      resultsOf(SINK_CLAUSES, subjects, (clause) =>
        within(CLAUSE_MS, holdSinkTo(clause, { definition: sink, fixture, tools }), clause.title),
      ),
    );
  }
}

async function definitionSuite(
  part: SuiteResult['part'],
  definition: Parameters<(typeof DEFINITION_CLAUSES)[number]['check']>[0],
  subjects: Subjects,
): Promise<SuiteResult> {
  const clauses = await resultsOf(DEFINITION_CLAUSES, subjects, async (clause) => {
    clause.check(definition);
    return undefined;
  });
  return { part, suite: 'definition', clauses };
}

type AnyFixture = Pick<SourceFixture, 'name' | 'missing' | 'skip' | 'start' | 'stop'>;

async function* suites<F extends AnyFixture>(
  fixtures: readonly F[],
  part: SuiteResult['part'],
  run: (fixture: F) => Promise<readonly ClauseResult[]>,
): AsyncGenerator<SuiteResult> {
  const what = { part, suite: 'contract' } as const;
  if (fixtures.length === 0) yield { ...what, clauses: [], missing: 'there are no fixtures' };
  for (const fixture of fixtures) {
    const named = fixture.name === undefined ? what : { ...what, fixture: fixture.name };
    if (fixture.missing !== undefined) {
      yield { ...named, clauses: [], missing: fixture.missing };
      continue;
    }
    const fault = await faultOfStart(fixture);
    if (fault !== undefined) {
      yield { ...named, clauses: [], missing: `its fixture cannot start: ${fault}` };
      continue;
    }
    try {
      yield { ...named, clauses: await run(fixture) };
    } finally {
      await fixture.stop?.();
    }
  }
}

async function faultOfStart(fixture: AnyFixture): Promise<string | undefined> {
  try {
    await fixture.start?.();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

interface Clause {
  readonly name: string;
  readonly title: string;
}

async function resultsOf<C extends Clause>(
  clauses: readonly C[],
  { only = () => true }: Subjects,
  hold: (clause: C) => Promise<string | undefined>,
): Promise<readonly ClauseResult[]> {
  const results: ClauseResult[] = [];
  for (const clause of clauses) {
    const { name, title } = clause;
    if (!only(name)) continue;
    try {
      const reason = await hold(clause);
      results.push(
        reason === undefined
          ? { name, title, outcome: 'kept' }
          : { name, title, outcome: 'not_applicable', reason },
      );
    } catch (error) {
      results.push({ name, title, outcome: 'broken', reason: messageOf(error) });
    }
  }
  return results;
}

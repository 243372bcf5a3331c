import { it } from 'vitest';
import { DEFINITION_CLAUSES, type AnyDefinition } from '../../src/conformance/definition.ts';

/** The clauses of all definitions, each as a test. */
export function itIsWellDefined(definition: AnyDefinition): void {
  for (const clause of DEFINITION_CLAUSES) it(clause.title, () => clause.check(definition));
}

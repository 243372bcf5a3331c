/** Every definition of this build owes its readers the same things, whatever it defines. */
import { describe } from 'vitest';
import { parts } from '../../src/parts.ts';
import { itIsWellDefined } from './definition.ts';

for (const [kind, definitions] of Object.entries({
  'state store': parts.states.all,
  credential: parts.credentials.all,
})) {
  for (const definition of definitions)
    describe(`${kind} ${definition.type}`, () => itIsWellDefined(definition));
}

for (const definition of parts.transforms.all) {
  describe(`transform ${definition.type}`, () =>
    itIsWellDefined({
      ...definition,
      examples: definition.examples.map((example) => example.config),
    }));
}

for (const [kind, definitions] of Object.entries({
  source: parts.sources.all,
  sink: parts.sinks.all,
})) {
  for (const definition of definitions)
    describe(`${kind} ${definition.type}`, () => itIsWellDefined(definition));
}

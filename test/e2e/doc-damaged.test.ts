/**
 * Texts that people really get wrong: a good document with characters, lines and indents lost,
 * doubled or strange.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ISSUES } from '../../src/document/parse/issues.ts';
import { ConfigError, type Issue } from '../../src/lib/errors.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import { load } from '../fakes/documents.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const TEXTS = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith('.yaml') || name.endsWith('.json'))
  .map((name) => ({
    format: name.endsWith('.json') ? ('json' as const) : ('yaml' as const),
    text: readFileSync(join(EXAMPLES, name), 'utf8'),
  }));

const PIECES = [
  [
    '\t',
    ' ',
    '  ',
    '\n',
    '\r\n',
    ':',
    ': ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    '&a ',
    '*a',
    '!include x',
    '!!set',
    '|',
    '>',
    '? ',
  ],
  [
    '---\n',
    '...\n',
    '%YAML 1.2\n',
    '${',
    '}',
    '$${',
    '${env:',
    '${vars.x}',
    '${now.',
    '${a.b}',
    '${param.',
    '${file:/etc}',
    '<<: ',
    'null',
    '~',
  ],
  [
    'version: 2\n',
    'pipeline:\n',
    'matrix: [{}]\n',
    'sink: 1\n',
    '__proto__: 1\n',
    '\u0000',
    '\ud800',
    '\ufeff',
    'ü',
    '1e999',
    '-',
    '=',
    '@',
    '`',
  ],
].flat();

type Damage =
  | { readonly kind: 'insert'; readonly at: number; readonly piece: string }
  | { readonly kind: 'remove'; readonly at: number; readonly length: number }
  | { readonly kind: 'double' | 'drop' | 'indent' | 'outdent'; readonly line: number };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), at: share, piece: fc.constantFrom(...PIECES) }),
  fc.record({
    kind: fc.constant('remove' as const),
    at: share,
    length: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({
    kind: fc.constantFrom(
      'double' as const,
      'drop' as const,
      'indent' as const,
      'outdent' as const,
    ),
    line: share,
  }),
);

function damaged(text: string, hurt: Damage): string {
  if (hurt.kind === 'insert' || hurt.kind === 'remove') {
    const at = Math.floor(hurt.at * text.length);
    return hurt.kind === 'insert'
      ? text.slice(0, at) + hurt.piece + text.slice(at)
      : text.slice(0, at) + text.slice(at + hurt.length);
  }
  const lines = text.split('\n');
  const at = Math.floor(hurt.line * (lines.length - 1));
  const line = lines[at] ?? '';
  const instead = {
    double: [line, line],
    drop: [],
    indent: [` ${line}`],
    outdent: [line.replace(/^ {1,2}/, '')],
  };
  return lines.toSpliced(at, 1, ...instead[hurt.kind]).join('\n');
}

/** What is wrong with how a refusal is told. */
function untold({ code, message, line, column }: Issue): string | undefined {
  if (!(code in ISSUES)) return `unknown code ${code}`;
  if (line === undefined || column === undefined) return `no place: ${code} ${message}`;
  return message.length < 5 ? 'no message' : undefined;
}

test('a damaged text is planned, or refused with problems that each have a code and a line', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TEXTS),
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      ({ text, format }, hurts) => {
        const broken = hurts.reduce(damaged, text);
        try {
          planDocument(load(broken, { format }), parts, { cpus: 4 });
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
          expect(error.issues.map(untold).filter((fault) => fault !== undefined)).toEqual([]);
          expect(error.issues.length).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

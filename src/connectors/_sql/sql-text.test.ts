import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bindTokens, sqlPieces } from './sql-text.ts';

const TOKEN = /\$\{([A-Za-z_][\w-]*(?:\.[\w-]+)+)\}/g;
const bind = (sql: string) => bindTokens(sql, TOKEN, (index) => `$${index + 1}`);

describe('the pieces of a statement', () => {
  test('joined again they are the statement, whatever it is', () => {
    const fragment = fc.constantFrom(
      "'",
      '"',
      '--',
      '/*',
      '*/',
      '$$',
      '$a$',
      '\n',
      'E',
      '\\',
      'x',
      ' ',
      '$1',
    );
    fc.assert(
      fc.property(fc.array(fragment), (parts) => {
        const sql = parts.join('');
        expect(
          sqlPieces(sql)
            .map((piece) => piece.text)
            .join(''),
        ).toBe(sql);
      }),
    );
  });

  test.each([
    ["a 'it''s' b", ['code', 'literal', 'code']],
    ["E'a\\'b' c", ['code', 'literal', 'code']],
    ['"a""b"', ['identifier']],
    ['x -- y\nz', ['code', 'comment', 'code']],
    ['/* a /* b */ c */ d', ['comment', 'code']],
    ["$fn$ it's $fn$ x", ['literal', 'code']],
    ['$1 = $2', ['code']],
  ])('%s', (sql, kinds) => {
    expect(sqlPieces(sql).map((piece) => piece.kind)).toEqual(kinds);
  });
});

describe('binding', () => {
  test('a token alone or as a whole literal becomes a parameter', () => {
    const bound = bind("SELECT * FROM t WHERE a = ${p.id} AND b = '${p.name}'");
    expect(bound.sql).toBe('SELECT * FROM t WHERE a = $1 AND b = $2');
    expect(bound.tokens.map((token) => token.name)).toEqual(['p.id', 'p.name']);
    expect(bound.misplaced).toEqual([]);
  });

  test.each(["'x ${p.id}'", '"${p.id}"', '-- ${p.id}', '/* ${p.id} */', '$$ ${p.id} $$'])(
    '%s cannot be bound',
    (sql) => {
      expect(bind(sql)).toEqual({ sql, tokens: [], misplaced: ['${p.id}'] });
    },
  );

  test('what stands before a token is known', () => {
    expect(bind('a >= ${p.id}').tokens[0]?.before.trimEnd().endsWith('>=')).toBe(true);
  });
});

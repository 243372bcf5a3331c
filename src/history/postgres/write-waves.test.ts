import { describe, expect, it } from 'vitest';
import { insertInto, type SqlScript, type SqlStatement } from '../sql/sql-store.ts';
import { mergeStatements, runTogether, takeWave } from './write-waves.ts';

const insert = insertInto('t', { id: 'text', n: 'integer' });
const update = (id: string): SqlStatement => ({
  sql: 'UPDATE t SET n = 1 WHERE id = ?',
  values: [id],
  many: { sql: 'UPDATE t SET n = 1 FROM unnest(?::text[]) … RETURNING id AS key', keyAt: 0 },
});
const plain = (sql: string): SqlStatement => ({ sql, values: [] });

describe('writes that are taken together', () => {
  const wave = (...touches: (readonly string[] | undefined)[]) => {
    const queue = touches.map((names, n) => ({ n, touches: names }));
    const taken = takeWave(queue).map(({ n }) => n);
    expect(queue.map(({ n }) => n)).toEqual(
      touches.map((_, n) => n).filter((n) => !taken.includes(n)),
    );
    return taken;
  };

  it('touch different things, and keep their order', () => {
    expect(wave(['a'], ['b'], [], [], ['c'])).toEqual([0, 1, 2, 3, 4]);
    expect(wave(['a'], ['b', 'c'], ['c'], ['d'])).toEqual([0, 1, 3]);
  });

  it('wait for what stays behind as for what is taken', () => {
    expect(wave(['a'], ['a', 'b'], ['b'], ['c'])).toEqual([0, 3]);
  });

  it('do not pass one of which nothing is known', () => {
    expect(wave(['a'], ['a'], undefined, ['b'])).toEqual([0]);
  });

  it('are one where nothing is known of what it touches', () => {
    expect(wave(undefined, ['a'])).toEqual([0]);
    expect(wave(['a'], undefined, ['b'])).toEqual([0]);
  });
});

describe('equal statements', () => {
  it('become one where the first of them stands, and the others keep their order', () => {
    const merged = mergeStatements([
      insert(['a', 1]),
      plain('one'),
      insert(['b', 2]),
      plain('one'),
      plain('two'),
    ]);
    expect(merged.map(({ sql, values, answers }) => [sql.split(' ')[0], values, answers])).toEqual([
      [
        'INSERT',
        [
          ['a', 'b'],
          [1, 2],
        ],
        [0, 2],
      ],
      ['one', [], [1]],
      ['one', [], [3]],
      ['two', [], [4]],
    ]);
    expect(merged[0]?.sql).toContain('unnest(?::text[], ?::integer[])');
  });

  it('that stands alone is done as it is', () => {
    const [only] = mergeStatements([insert(['a', 1])]);
    expect(only).toMatchObject({ sql: insert(['a', 1]).sql, values: ['a', 1] });
  });

  it('are done one by one where they are too few to become one', () => {
    const few = ['a', 'b', 'c'].map((id): SqlStatement => {
      const { many, ...one } = update(id);
      return { ...one, many: { sql: '', ...many, atLeast: 4 } };
    });
    const alone = mergeStatements([...few, plain('last')]);
    expect(alone.map(({ sql, values, answers }) => [sql.split(' ')[0], values, answers])).toEqual([
      ['UPDATE', ['a'], [0]],
      ['UPDATE', ['b'], [1]],
      ['UPDATE', ['c'], [2]],
      ['last', [], [3]],
    ]);
    expect(mergeStatements([...few, ...few.slice(0, 1)])).toHaveLength(1);
  });

  it('tell each which of them changed something', () => {
    const [merged] = mergeStatements(['a', 'b', 'c'].map(update));
    const result = { rows: [{ key: 'c' }, { key: 'a' }], changed: 2 };
    expect([0, 1, 2].map((n) => merged?.resultOf(n, result).changed)).toEqual([1, 0, 1]);
  });
});

describe('scripts that run together', () => {
  it('get the results of their own statements, step by step, however many they have', async () => {
    const counting = function* (name: string, steps: number): SqlScript<string> {
      const seen: number[] = [];
      for (let step = 0; step < steps; step += 1) {
        const asked = Array.from({ length: step + 1 }, (_, n) => plain(`${name}${step}${n}`));
        for (const { changed } of yield asked) seen.push(changed);
      }
      return `${name}: ${seen.join(' ')}`;
    };
    const asked: string[][] = [];
    let count = 0;
    const values = await runTogether(
      [counting('a', 1), counting('b', 0), counting('c', 2)],
      async (statements) => {
        asked.push(statements.map(({ sql }) => sql));
        return statements.map(() => ({ rows: [], changed: (count += 1) }));
      },
    );
    expect(asked).toEqual([
      ['a00', 'c00'],
      ['c10', 'c11'],
    ]);
    expect(values).toEqual(['a: 1', 'b: ', 'c: 2 3 4']);
  });
});

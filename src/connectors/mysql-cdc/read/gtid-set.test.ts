import { describe, expect, test } from 'vitest';
import { encodeMysqlSet, holds, mysqlGtid, parseGtidSet, type GtidSet } from './gtid-set.ts';

const [ONE, TWO] = ['3e11fa47-71ca-11e1-9e33-c80aa9429562', '4e11fa47-71ca-11e1-9e33-c80aa9429562'];
const hex = (uuid: string): string => uuid.replaceAll('-', '');

function parsed(text: string): GtidSet {
  const set = parseGtidSet(text);
  if (set === undefined) throw new Error(`${text} is no set`);
  return set;
}

describe('a set of transactions', () => {
  test.each([
    '',
    '0-1',
    '0-1-2-3',
    '0-1-2,0-1-3',
    ONE,
    `${ONE}:`,
    `${ONE}:0-3`,
    `${ONE}:5-3`,
    `${ONE}:x`,
    '1:2',
  ])('is not %j', (text) => expect(parseGtidSet(text)).toBeUndefined());

  test('of MariaDB holds all of a domain up to its last one', () => {
    const set = parsed('0-1-10, 7-2-3');
    const held = (domain: number, sequence: bigint) =>
      holds(set, { kind: 'mariadb', domain, sequence });
    expect([held(0, 10n), held(0, 11n), held(7, 3n), held(7, 4n), held(8, 1n)]).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  test('of MySQL holds ranges of each server', () => {
    const set = parsed(`${TWO}:9,${ONE.toUpperCase()}:1-5:7`);
    const held = (server: string, number: bigint) =>
      holds(set, { kind: 'mysql', server: hex(server), number });
    expect([1n, 5n, 6n, 7n, 8n].map((number) => held(ONE, number))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect([held(TWO, 9n), held(TWO, 1n)]).toEqual([true, false]);
  });

  test('of MySQL is sent in order, without overlaps, with the ends behind the ranges', () => {
    const set = parsed(`${TWO}:9,${ONE}:7:1-5:4-6`);
    if (set.kind !== 'mysql') throw new Error('cannot happen');
    const expected = [
      '0200000000000000',
      hex(ONE),
      '0100000000000000 0100000000000000 0800000000000000',
      hex(TWO),
      '0100000000000000 0900000000000000 0a00000000000000',
    ].join('');
    expect(encodeMysqlSet(set.ranges).toString('hex')).toBe(expected.replaceAll(' ', ''));
  });

  test('is compared with what an event of MySQL says', () => {
    const body = Buffer.from(`01${hex(ONE)}0700000000000000`, 'hex');
    expect(mysqlGtid(body)).toEqual({ kind: 'mysql', server: hex(ONE), number: 7n });
  });
});

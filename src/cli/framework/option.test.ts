import { describe, expect, it } from 'vitest';
import {
  choiceOption,
  flagOf,
  givenFor,
  integerOption,
  listOption,
  switchOption,
  textOption,
  unavailableOption,
  withVariables,
} from './option.ts';

const flags = (key: string, ...texts: string[]): ReadonlyMap<string, readonly string[]> =>
  new Map([[key, texts]]);
const none: ReadonlyMap<string, readonly string[]> = new Map();

describe('the flag of an option', () => {
  it('is its key in kebab case', () => {
    expect(flagOf('maxConcurrentRuns')).toBe('--max-concurrent-runs');
    expect(flagOf('limit')).toBe('--limit');
  });
});

describe('the value of an option', () => {
  const limit = integerOption({
    value: 'N',
    min: 1,
    max: 9,
    default: 3,
    env: ['SVC_LIMIT'],
    description: '',
  });
  const read = (
    given: ReadonlyMap<string, readonly string[]>,
    variables: Record<string, string> = {},
  ): number => limit.read(givenFor('limit', limit, given, variables));

  it('comes from the flag before the variable before the default', () => {
    expect(read(flags('limit', '5'), { SVC_LIMIT: '7' })).toBe(5);
    expect(read(none, { SVC_LIMIT: '7' })).toBe(7);
    expect(read(none)).toBe(3);
  });

  it('is all that can be counted where there is no bound, and more is asked for', () => {
    const many = integerOption({ value: 'N', min: 1, description: '' });
    const given = flags('limit', '100000000000000000000');
    expect(many.read(givenFor('limit', many, given, {}))).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => read(given)).toThrow('--limit must be a whole number from 1 to 9');
  });

  it('comes from the other variable where the first is not set or empty', () => {
    const policy = textOption({ value: 'P', env: ['OURS', 'FIRST', 'SECOND'], description: '' });
    const of = (variables: Record<string, string>) => givenFor('policy', policy, none, variables);
    expect(of({ FIRST: 'a', SECOND: 'b' })).toEqual({ texts: ['a'], from: 'FIRST' });
    expect(of({ FIRST: '', SECOND: 'b' })).toEqual({ texts: ['b'], from: 'SECOND' });
    expect(of({ SECOND: 'b' })).toEqual({ texts: ['b'], from: 'SECOND' });
    expect(of({ FIRST: '' })).toEqual({ texts: [''], from: 'FIRST' });
    expect(of({})).toBeUndefined();
  });

  it('is the last one when a flag is repeated', () => {
    expect(read(flags('limit', '5', '6'))).toBe(6);
  });

  it('is refused outside its range, naming the flag or the variable it came from', () => {
    expect(() => read(flags('limit', '0'))).toThrow(
      '--limit must be a whole number from 1 to 9, got "0"',
    );
    expect(() => read(flags('limit', '1.5'))).toThrow('--limit must be a whole number');
    expect(() => read(none, { SVC_LIMIT: 'many' })).toThrow('SVC_LIMIT must be a whole number');
    expect(() => read(none, { SVC_LIMIT: '' })).toThrow('SVC_LIMIT must be a whole number');
  });

  it('of a choice is one of the choices', () => {
    const output = choiceOption({
      value: 'F',
      choices: ['text', 'json'],
      default: 'text',
      description: '',
    });
    expect(output.read({ texts: ['json'], from: '--output' })).toBe('json');
    expect(() => output.read({ texts: ['jsno'], from: '--output' })).toThrow(
      '--output cannot be "jsno"',
    );
  });

  it('of a text must not be empty', () => {
    const token = textOption({ value: 'T', env: ['SVC_TOKEN'], description: '' });
    expect(token.read(undefined)).toBeUndefined();
    expect(() => token.read(givenFor('token', token, none, { SVC_TOKEN: '' }))).toThrow(
      'SVC_TOKEN must not be empty',
    );
  });

  it('of a list is comma-separated in a variable and counts repeated values once', () => {
    const tags = listOption({ value: 'T', env: ['SVC_TAGS'], description: '' });
    expect(tags.read(givenFor('tag', tags, flags('tag', 'a', 'b', 'a'), {}))).toEqual(['a', 'b']);
    expect(tags.read(givenFor('tag', tags, none, { SVC_TAGS: ' a, b,,a ' }))).toEqual(['a', 'b']);
    expect(tags.read(givenFor('tag', tags, none, { SVC_TAGS: '' }))).toEqual([]);
  });

  it('of a switch is true when given; its variable says true or false', () => {
    const quiet = switchOption({ env: ['SVC_QUIET'], description: '' });
    expect(quiet.read({ texts: ['true'], from: '--quiet' })).toBe(true);
    expect(quiet.read(undefined)).toBe(false);
    expect(quiet.read(givenFor('quiet', quiet, none, { SVC_QUIET: '0' }))).toBe(false);
    expect(() => quiet.read(givenFor('quiet', quiet, none, { SVC_QUIET: 'maybe' }))).toThrow(
      'SVC_QUIET must be true or false',
    );
  });
});

describe('an option that this build does not have', () => {
  const cluster = withVariables('SERVE', {
    cluster: unavailableOption('cluster mode'),
  }).cluster;

  it('is refused when given, also as a variable', () => {
    expect(cluster.read(undefined)).toBeUndefined();
    expect(() => cluster.read({ texts: ['true'], from: '--cluster' })).toThrow(
      '--cluster is not available: this version has no cluster mode',
    );
    expect(() =>
      cluster.read(givenFor('cluster', cluster, none, { SVC_SERVE_CLUSTER: '1' })),
    ).toThrow('SVC_SERVE_CLUSTER is not available');
  });

  it('may be switched off explicitly', () => {
    expect(
      cluster.read(givenFor('cluster', cluster, none, { SVC_SERVE_CLUSTER: 'false' })),
    ).toBeUndefined();
  });
});

describe('variables by prefix', () => {
  it('are named after the flags, and an own name stays', () => {
    const options = withVariables('SERVE', {
      corsOrigin: listOption({ value: 'O', description: '' }),
      listen: textOption({ value: 'A', env: ['LISTEN'], description: '' }),
    });
    expect(options.corsOrigin.env).toEqual(['HEADGATE_SERVE_CORS_ORIGIN', 'SVC_SERVE_CORS_ORIGIN']);
    expect(options.listen.env).toEqual(['LISTEN']);
  });
});

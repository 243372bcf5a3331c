import { expect, test } from 'vitest';
import { findVariable, variable, VARIABLES } from './variables.ts';

test('our name is first, the one of the specification is accepted', () => {
  expect(variable('LOG')).toEqual(['HEADGATE_LOG', 'SVC_LOG']);
  expect(findVariable(VARIABLES.log, { HEADGATE_LOG: 'debug' })).toEqual({
    name: 'HEADGATE_LOG',
    text: 'debug',
  });
  expect(findVariable(VARIABLES.log, { SVC_LOG: 'debug' })?.name).toBe('SVC_LOG');
  expect(findVariable(VARIABLES.log, {})).toBeUndefined();
});

test('two names with one value are fine, with two values an error that tells neither', () => {
  expect(findVariable(VARIABLES.log, { HEADGATE_LOG: 'debug', SVC_LOG: 'debug' })?.text).toBe(
    'debug',
  );
  const differing = { HEADGATE_SERVE_AUTH_TOKEN: 'one-secret', SVC_SERVE_AUTH_TOKEN: 'another' };
  const read = (): unknown => findVariable(variable('SERVE_AUTH_TOKEN'), differing);
  expect(read).toThrow(/HEADGATE_SERVE_AUTH_TOKEN and SVC_SERVE_AUTH_TOKEN are two names/);
  expect(read).not.toThrow(/one-secret|another/);
});

test('of the names of the specification the first counts, as it always did', () => {
  const both = { FAUCET_PROFILE: 'prod', SVC_PROFILE: 'dev' };
  expect(findVariable(VARIABLES.profile, both)?.text).toBe('prod');
});

test('an empty value counts only when there is no other', () => {
  expect(findVariable(VARIABLES.profile, { HEADGATE_PROFILE: '', SVC_PROFILE: 'dev' })?.name).toBe(
    'SVC_PROFILE',
  );
  expect(findVariable(VARIABLES.profile, { SVC_PROFILE: '' })).toEqual({
    name: 'SVC_PROFILE',
    text: '',
  });
});

import { expect, it } from 'vitest';
import { excerptOf } from './excerpt.ts';
import { Redactor } from '../redact.ts';

const redactor = new Redactor();
redactor.register('s3cret-value');

it('shows the start of a body without its secrets, also where one is cut', () => {
  expect(excerptOf(new TextEncoder().encode(' wrong key s3cret-value\n'), redactor)).toBe(
    'wrong key ***',
  );
  const shown = excerptOf(`${'x'.repeat(2043)}s3cret-value and more`, redactor);
  expect(shown).toBe(`${'x'.repeat(2043)}*** a…`);
});

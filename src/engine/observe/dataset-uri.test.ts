import { describe, expect, it } from 'vitest';
import { withWholePath } from './dataset-uri.ts';

describe('an address shown outside', () => {
  it.each([
    ['file://in.csv', 'file:///work/in.csv'],
    ['file:///abs/in.csv', 'file:///abs/in.csv'],
    ['sqlite://./a.db?table=t', 'sqlite:///work/a.db?table=t'],
    ['sqlite://:memory:?table=t', 'sqlite://:memory:?table=t'],
    ['duckdb://x/../a.duckdb?query=select 1?', 'duckdb:///work/a.duckdb?query=select 1?'],
    ['https://host/x', 'https://host/x'],
  ])('%s is told from the root', (uri, whole) => {
    expect(withWholePath(uri, '/work')).toBe(whole);
  });
});

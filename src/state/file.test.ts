import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { fileState } from './file.ts';
import { openState } from '../../test/fakes/open-state.ts';

const cwd = mkdtempSync(join(tmpdir(), 'file-state-'));
const open = (path: string, more = {}) => openState(fileState, { path, ...more }, cwd);

describe('the file state store', () => {
  test('a key is one file, and no temporary file stays', async () => {
    const store = await open('names');
    await store.put('p::row::k=v&a/b%', { at: 1 });
    await store.put('p::row::k=v&a/b%', { at: 2 });
    expect(readdirSync(join(cwd, 'names'))).toEqual(['p%3A%3Arow%3A%3Ak=v&a%2Fb%25.json']);
    expect(readFileSync(join(cwd, 'names', 'p%3A%3Arow%3A%3Ak=v&a%2Fb%25.json'), 'utf8')).toBe(
      '{"at":2}',
    );
  });

  test('the folder is made on the first write', async () => {
    const store = await open('deep/er');
    expect(await store.get('p::row')).toBeUndefined();
    await store.delete('p::row');
    expect(readdirSync(cwd)).not.toContain('deep');
    await store.put('p::row', 1);
    expect(readdirSync(join(cwd, 'deep', 'er'))).toEqual(['p%3A%3Arow.json']);
  });

  test('a folder that cannot be made is an error that says where to look', async () => {
    writeFileSync(join(cwd, 'plain'), '');
    await expect((await open('plain/below')).put('p::row', 1)).rejects.toMatchObject({
      message: expect.stringContaining('the state folder cannot be made'),
      hint: expect.stringContaining('`path`'),
    });
  });

  test('a file that is not JSON is an error, not "no value"', async () => {
    const store = await open('broken');
    await store.put('p::row', 1);
    writeFileSync(join(cwd, 'broken', 'p%3A%3Arow.json'), '{"at": hunter22}');
    await expect(store.get('p::row')).rejects.toThrow(
      /^the state `p::row` cannot be read: it is not JSON(?:(?!hunter).)*$/,
    );
  });
});

describe('the encrypted file state store', () => {
  const encrypted = (key: string, previous_keys: string[] = []) =>
    open('sealed', { encryption: { key, previous_keys } });
  const file = join(cwd, 'sealed', 'p%3A%3Arow.json');

  test('the value cannot be read in the file, and a changed key keeps reading what the previous one wrote', async () => {
    await (await encrypted('old')).put('p::row', 'visible');
    expect(readFileSync(file, 'latin1')).not.toContain('visible');
    expect(await (await encrypted('new', ['old'])).get('p::row')).toBe('visible');
    await expect((await encrypted('new')).get('p::row')).rejects.toMatchObject({
      kind: 'data',
      hint: expect.stringContaining('previous_keys') as string,
    });
  });

  test('an encrypted file without a key says what to do', async () => {
    await (await encrypted('k')).put('p::row', 1);
    await expect((await open('sealed')).get('p::row')).rejects.toMatchObject({
      hint: expect.stringContaining('encryption') as string,
    });
  });

  test('a cut file is an error', async () => {
    await (await encrypted('k')).put('p::row', 1);
    writeFileSync(file, readFileSync(file).subarray(0, 20));
    await expect((await encrypted('k')).get('p::row')).rejects.toThrow('cut off');
  });

  test('a plain file stays readable and is encrypted when next written', async () => {
    await (await open('sealed')).put('p::row', 'plain');
    const store = await encrypted('k');
    expect(await store.get('p::row')).toBe('plain');
    await store.put('p::row', 'plain');
    expect(readFileSync(file).subarray(0, 4).toString()).toBe('HGS1');
  });

  test('an empty key is refused', () => {
    expect(check(fileState.config, { path: 'x', encryption: { key: '' } }).ok).toBe(false);
    expect(
      check(fileState.config, { path: 'x', encryption: { key: 'k', previous_keys: [''] } }).ok,
    ).toBe(false);
  });
});

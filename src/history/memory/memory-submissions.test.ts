import { expect, test } from 'vitest';
import { MemorySubmissions } from './memory-submissions.ts';

const submission = (name: string) => ({
  content: '{}',
  document: { hash: name, content: `name: ${name}` },
});

test('equal texts are held once, until nobody needs them', () => {
  const held = new MemorySubmissions();
  held.put('one', submission('a'));
  held.put('two', submission('a'));
  expect(held.get('one')?.document).toBe(held.get('two')?.document);
  held.erase('one');
  held.put('three', submission('a'));
  expect([held.texts, held.get('three')?.document === held.get('two')?.document]).toEqual([
    1,
    true,
  ]);
  held.erase('two');
  held.erase('three');
  held.erase('three');
  expect(held.texts).toBe(0);
});

test('the oldest ended runs make room, those that have not ended never', () => {
  const held = new MemorySubmissions();
  held.put('unfinished', submission('u'));
  for (let run = 0; run <= 10_000; run += 1) {
    held.put(`run-${run}`, submission('a'));
    held.end(`run-${run}`);
  }
  expect(['unfinished', 'run-0', 'run-1'].map((id) => held.has(id))).toEqual([true, false, true]);
});

/** `npm run bench`: measures the moves and prints, and on request stores, what came out. */
import { describeMachine } from './machine.ts';
import { MOVES } from './moves/index.ts';
import type { Move } from './move.ts';
import { openBench } from './open-bench.ts';
import { readOptions, USAGE, type Options } from './options.ts';
import { renderMove } from './render.ts';
import { storeResult, type Result } from './result.ts';
import { runSession } from './session.ts';

try {
  await main(readOptions(process.argv.slice(2)));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 1;
}

async function main(options: Options): Promise<void> {
  if (options.list)
    return console.log(MOVES.map(({ name, title }) => `${name.padEnd(30)} ${title}`).join('\n'));
  const moves = chosen(options.only);
  const bench = await openBench(options);
  const machine = describeMachine(options.folder);
  try {
    for (const move of moves) {
      bench.say(move.name);
      const result: Result = { format: 1, machine, moves: [await runSession(move, bench)] };
      console.log(result.moves.map(renderMove).join('\n'));
      if (result.moves.some(({ kind }) => kind === 'failed')) process.exitCode = 1;
      // After every move: a session takes long, and what is measured is measured.
      if (options.store !== undefined) storeResult(options.store, result);
    }
  } finally {
    await bench.close();
  }
}

function chosen(only: readonly string[]): readonly Move[] {
  const unknown = only.find((name) => !MOVES.some((move) => move.name === name));
  if (unknown !== undefined) throw new Error(`there is no move "${unknown}"; --list shows them`);
  return only.length === 0 ? MOVES : MOVES.filter(({ name }) => only.includes(name));
}

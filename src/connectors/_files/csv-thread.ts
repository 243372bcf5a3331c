/** A thread that converts parts of a delimited file to JSON Lines (`csv-team.ts` starts it). */
import { parentPort, workerData } from 'node:worker_threads';
import { CsvChunkConverter, type ChunkShape, type ChunkTask } from './csv-chunk.ts';

const converter = new CsvChunkConverter(workerData as ChunkShape);

parentPort?.on('message', (task: ChunkTask) => {
  const answer = converter.answer(task);
  parentPort?.postMessage(
    answer,
    answer.converted === undefined ? [task.chunk.buffer] : [task.chunk.buffer, answer.converted.lines.buffer],
  );
});

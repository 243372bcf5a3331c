/** A thread that converts parts of a delimited file to JSON Lines (`csv-team.ts` starts it). */
import { parentPort, workerData } from 'node:worker_threads';
import { ByteWriter } from '../../kit/byte-writer.ts';
import { CsvChunkConverter, type ChunkShape, type ConvertedChunk } from './csv-chunk.ts';

/** Both pieces of memory go back and forth, so that none has to be made anew. */
export interface ThreadTask {
  readonly chunk: Uint8Array<ArrayBuffer>;
  /** Where the lines go, when there is some to use again. */
  readonly room: ArrayBuffer | undefined;
}

export interface ThreadAnswer {
  readonly chunk: Uint8Array<ArrayBuffer>;
  readonly converted: ConvertedChunk | undefined;
}

const converter = new CsvChunkConverter(workerData as ChunkShape);

parentPort?.on('message', ({ chunk, room }: ThreadTask) => {
  const out = new ByteWriter();
  if (room !== undefined) out.bytes = Buffer.from(room);
  const answer: ThreadAnswer = { chunk, converted: converter.convert(chunk, out) };
  parentPort?.postMessage(answer, answer.converted === undefined ? [chunk.buffer] : [chunk.buffer, answer.converted.lines.buffer]);
});

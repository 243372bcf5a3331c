export { fileSink } from './sink.ts';
export { fileSource } from './source.ts';

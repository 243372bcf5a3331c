export { fileSink } from './write/sink.ts';
export { fileSource } from './read/source.ts';

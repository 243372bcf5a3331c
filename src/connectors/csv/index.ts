export { csvSink } from './sink.ts';
export { csvSource } from './source.ts';

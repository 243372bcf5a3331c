export { jsonlSink } from './sink.ts';
export { jsonlSource } from './source.ts';

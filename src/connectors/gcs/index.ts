export { gcsSink } from './sink.ts';
export { gcsSource } from './source.ts';

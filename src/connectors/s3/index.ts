export { s3Sink } from './sink.ts';
export { s3Source } from './source.ts';

export { parquetSink } from './sink.ts';
export { parquetSource } from './source.ts';

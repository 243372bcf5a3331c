export { stdoutSink } from './sink.ts';

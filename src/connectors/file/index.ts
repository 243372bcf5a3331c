export { fileSource } from './source.ts';

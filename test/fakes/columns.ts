export { columnsOf } from '../../src/conformance/columns-of.ts';

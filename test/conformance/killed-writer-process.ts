/** Entry of the process that the suite of sinks kills. */
import { decodeTask, takeSteps } from '../../src/conformance/sink/killed-writer.ts';
import { SINKS } from '../../src/connectors/index.ts';
import { BROKEN_SINKS } from './broken/sinks.ts';

const task = decodeTask(process.argv[2] ?? '');
const definition = [...SINKS, ...BROKEN_SINKS.map((one) => one.definition)].find(
  (one) => one.type === task.type,
);
if (definition === undefined) throw new Error(`there is no sink ${task.type}`);
await takeSteps(task, definition);

/** Entry of a process that `headgate conformance` kills while it writes with the sink it looks at. */
import { decodeTask, takeSteps } from './conformance/sink/killed-writer.ts';
import { assert } from './lib/errors.ts';
import { openTarget } from './packages/connector-target.ts';

const [, , target = '', cwd = '', task = ''] = process.argv;
const { sink } = openTarget(target, cwd).connector;
assert(sink !== undefined, 'its sink is what is looked at');
// No `await`: the bundle is CommonJS.
void takeSteps(decodeTask(task), sink);

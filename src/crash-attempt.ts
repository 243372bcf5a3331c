/** Entry of a process that `headgate test --chaos` lets crash. */
import { serveAttempts } from './features/fixtures/crash/serve-attempts.ts';
import { partsWith } from './parts.ts';

const [, , ...packages] = process.argv;

// No `await`: the bundle is CommonJS.
void partsWith(packages, process.cwd()).then(serveAttempts);

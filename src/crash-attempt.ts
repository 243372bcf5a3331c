/** Entry of a process that `headgate test --chaos` lets crash. */
import { serveAttempts } from './features/fixtures/crash/serve-attempts.ts';
import { parts } from './parts.ts';

serveAttempts(parts);

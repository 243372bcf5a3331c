/**
 * Entry of a worker process. The server decides about stopping: a signal to the whole process group
 * must not end a run halfway, nor a process that is still loading, which takes a while.
 */

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

// Only now: whatever a module imports is loaded before its first line. No `await`: the bundle is
// CommonJS.
void import('./worker-jobs.ts').then(({ startWorker }) => startWorker());

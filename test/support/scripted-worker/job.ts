import { JOB_VERSION, type Job } from '../../../src/wire/job.ts';

/** A run for the worker of tests; its name says what it does. */
export function runJobOf(name: string, id = name): Job {
  return {
    version: JOB_VERSION,
    id,
    log_level: 'info',
    is_level_chosen: false,
    request: {
      kind: 'run',
      run_id: id,
      document: { config: '{"version":1}', config_format: 'json', name, base: null },
      clock: '2026-08-01T00:00:00Z',
      concurrency: null,
      reads_anew: false,
    },
  };
}

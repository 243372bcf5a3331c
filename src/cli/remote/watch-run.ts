/** A run on a server, shown until it has ended. */
import type { HeadgateClient, RunGetAnswer } from '../../client/index.ts';
import { seconds, thousands } from '../../lib/text/count.ts';
import { EXIT } from '../framework/exit.ts';
import type { CliContext } from '../framework/context.ts';

export interface WatchOptions {
  readonly client: HeadgateClient;
  /** Lines of its log are printed as they come. */
  readonly showsLog: boolean;
}

/**
 * Gives the run as it ended, or undefined when somebody pressed Ctrl-C: the run goes on without us.
 */
async function watchRun(
  { world, terminal }: CliContext,
  id: string,
  { client, showsLog }: WatchOptions,
): Promise<RunGetAnswer | undefined> {
  const left = new AbortController();
  const forget = world.onSignal(() => left.abort(new Error('left')));
  const { signal } = left;
  try {
    if (showsLog) {
      for await (const event of client.followLog(id, { signal }))
        terminal.note(event.type === 'line' ? event.line : event.message);
    }
    const run = await client.wait(id, {
      signal,
      onProgress: (now) => terminal.progress(progressOf(now)),
    });
    terminal.clearProgress();
    return run;
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.clearProgress();
    terminal.note(`the run goes on: \`headgate logs ${id} --follow\`, \`headgate cancel ${id}\``);
    return undefined;
  } finally {
    forget();
  }
}

/** Watches a run and prints how it ended; gives the exit code of the command. */
export async function exitWithRun(
  context: CliContext,
  id: string,
  { json, ...watching }: WatchOptions & { readonly json: boolean },
): Promise<number> {
  const run = await watchRun(context, id, watching);
  if (run === undefined) return EXIT.interrupted;
  if (json) context.terminal.json(run);
  else context.terminal.note(runLine(run));
  return run.status === 'completed' ? EXIT.ok : EXIT.failed;
}

/** One line: how it went, and why it failed. */
export function runLine(run: RunGetAnswer): string {
  const { run_id: id, name, status, records_written: written, elapsed_secs: secs, error } = run;
  const parts = [
    id,
    name ?? '(no name)',
    status,
    `${thousands(written)} records written`,
    ...(secs == null ? [] : [seconds(secs * 1000)]),
    ...(error == null ? [] : [error]),
  ];
  return parts.join('  ·  ');
}

function progressOf({
  status,
  records_written: written,
  elapsed_secs: secs,
}: RunGetAnswer): string {
  return `${status}  ·  ${thousands(written)} records written  ·  ${seconds((secs ?? 0) * 1000)}`;
}

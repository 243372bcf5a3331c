/** Whether lineage events could be sent, without sending one. */
import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { LineageSpec } from '../../blocks/lineage/schema.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { ProbeReport } from '../../wire/doctor.ts';
import { requestTo } from './transport.ts';

interface ProbeOptions {
  readonly env: Pick<Env, 'clock' | 'cwd' | 'fetch' | 'redactor'>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Never throws. Any answer of a collector will do: many answer only to POST. */
export async function probeLineage(
  { transport }: LineageSpec,
  { env, signal, timeoutMs }: ProbeOptions,
): Promise<ProbeReport> {
  const from = env.clock.elapsedMs();
  const name = transport.type === 'file' ? 'write' : 'connect';
  const report = (result: Pick<ProbeReport, 'status' | 'reason' | 'hint'>): ProbeReport => {
    const elapsed = Math.round(env.clock.elapsedMs() - from);
    return env.redactor.json({
      role: 'lineage',
      connector: transport.type,
      name,
      ...result,
      elapsed_ms: elapsed,
    });
  };
  try {
    if (transport.type === 'http') {
      const { url, headers } = requestTo(transport.config.url, transport.config.auth?.config.token);
      const both = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const response = await env.fetch(url, {
        method: 'HEAD',
        headers,
        signal: both,
        redirect: 'manual',
      });
      await response.body?.cancel();
    } else if (transport.type === 'file') {
      await checkWritable(resolve(env.cwd, transport.config.path));
    } else {
      return report({ status: 'skip', reason: 'brokers are not asked' });
    }
    return report({ status: 'pass' });
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    const hint = 'runs do not need it: they go on without telling anybody';
    return report({ status: 'fail', reason: messageOf(cause), hint });
  }
}

/** Folders that are missing are made with the first event. */
async function checkWritable(file: string): Promise<void> {
  for (let place = file; ; place = dirname(place)) {
    const found = await stat(place).catch(() => undefined);
    if (found === undefined && place !== dirname(place)) continue;
    if (place === file && found?.isDirectory() === true) throw new Error(`${file} is a folder`);
    if (place !== file && found?.isDirectory() === false) throw new Error(`${place} is no folder`);
    await access(place, constants.W_OK);
    return;
  }
}

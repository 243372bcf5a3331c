import type { Issue } from '../lib/errors.ts';

/** Of a sink that offers other write modes; `path` is where its mode stands. */
export function unsupportedMode(
  path: string,
  asked: { readonly type: string; readonly mode: string; readonly possible: readonly string[] },
): Required<Pick<Issue, 'code' | 'path' | 'message' | 'hint'>> {
  return {
    code: 'write_mode_unsupported',
    path,
    message: `the sink \`${asked.type}\` cannot \`${asked.mode}\``,
    hint: `possible are: ${asked.possible.join(', ')}`,
  };
}

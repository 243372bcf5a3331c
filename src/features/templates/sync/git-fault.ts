/** What keeps a repository from being read or written, in plain words. */
import { AppError, messageOf, RefusedError } from '../../../lib/errors.ts';
import { tlsFault } from '../../../lib/tls-fault.ts';
import type { GitSettings } from './origins-file.ts';

/** What does not come from the network or the library stays as it is. */
export async function gitFault(error: unknown, git: GitSettings): Promise<unknown> {
  if (error instanceof AppError) return error;
  const { Errors } = await import('isomorphic-git');
  const refuse = (message: string, hint?: string): RefusedError =>
    new RefusedError('unavailable', message, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    });
  if (error instanceof Errors.UserCanceledError) return refusedLogin(git, refuse);
  if (error instanceof Errors.HttpError) {
    const { statusCode: status } = error.data;
    if (status === 401 || status === 403) return refusedLogin(git, refuse);
    if (status === 404)
      return refuse(
        `there is no repository at ${git.url}`,
        'check `url`; hosts also say so of a repository that the token may not read',
      );
    return refuse(`the host of the repository answers with status ${status}`);
  }
  if (error instanceof Errors.NotFoundError && error.data.what === git.branch)
    return noBranch(git.branch);
  if (error instanceof Errors.SmartHttpError || error instanceof Errors.ParseError)
    return refuse(`${git.url} does not answer as a git repository does`, 'check `url`');
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return refuse('the host of the repository did not answer in time');
  if (error instanceof TypeError && error.cause !== undefined)
    return refuse(
      `the host of the repository cannot be reached: ${messageOf(error.cause).trim()}`,
      tlsFault(error),
    );
  return error;
}

type Refuse = (message: string, hint?: string) => RefusedError;

function refusedLogin({ token_env: variable }: GitSettings, refuse: Refuse): RefusedError {
  return variable === undefined
    ? refuse(
        'the repository wants a login',
        'name the variable of the server that holds a token in `token_env`',
      )
    : refuse(
        `the repository refuses the token of ${variable}`,
        'check whether it has expired, and what it may read and write',
      );
}

export function noBranch(branch: string): RefusedError {
  return new RefusedError('unavailable', `the repository has no branch \`${branch}\``);
}

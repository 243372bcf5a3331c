/** A branch of a git repository, kept as a shallow clone in the data folder of the server. */
import fs from 'node:fs';
import { realpath, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Env } from '../../../lib/env.ts';
import { RefusedError } from '../../../lib/errors.ts';
import { readLimitedBytes } from '../../../lib/http/response-text.ts';
import { filesOfFolder, writeToFolder } from './folder.ts';
import { gitFault, noBranch } from './git-fault.ts';
import type { Origin, Publication, WrittenTemplate } from './origin.ts';
import type { GitSettings, OriginSettings } from './origins-file.ts';

/** For one request to the host of the repository. */
const REQUEST_MS = 60_000;
/** Clones are shallow, and templates small. */
const MOST_ANSWER_BYTES = 256 * 1024 * 1024;
const PUBLISH_ATTEMPTS = 3;

export interface GitOriginOptions {
  readonly env: Pick<Env, 'fetch' | 'variables' | 'redactor'>;
  readonly settings: OriginSettings;
  readonly git: GitSettings;
  /** Its clone lies there. */
  readonly folder: string;
}

export function gitOrigin({ env, settings, git, folder }: GitOriginOptions): Origin {
  const clone = new Clone({ env, git, folder });
  const explain = async (error: unknown): Promise<never> => {
    throw await gitFault(error, git);
  };
  const content = join(folder, git.path ?? '');
  return {
    settings,
    pull: async (signal) => {
      await clone.update(signal).catch(explain);
      await assertInside(folder, git.path ?? '');
      await assertFolder(folder, git.path ?? '');
      return filesOfFolder(content, signal);
    },
    publish: async (files, about) => {
      for (let attempt = 1; ; attempt += 1) {
        await clone.update(about.signal).catch(explain);
        const names = inFolder(files, git.path);
        for (const name of names) await assertInside(folder, name);
        await writeToFolder(content, files);
        try {
          return await clone.push(names, about);
        } catch (error) {
          // Somebody else has pushed meanwhile; anything else fails again in the same way.
          if (attempt === PUBLISH_ATTEMPTS) return explain(error);
        }
      }
    },
  };
}

/** A repository may have a link to somewhere else; of what is not there yet, the folders count. */
async function assertInside(clone: string, path: string): Promise<void> {
  const whole = await realpath(clone);
  let at = join(clone, path);
  let found = await realpath(at).catch(() => undefined);
  while (found === undefined) {
    at = dirname(at);
    found = await realpath(at).catch(() => undefined);
  }
  if (found !== whole && !found.startsWith(whole + sep))
    throw new RefusedError('unavailable', `\`${path}\` leads out of the repository`);
}

async function assertFolder(clone: string, path: string): Promise<void> {
  const found = await stat(join(clone, path)).catch(() => undefined);
  if (found?.isDirectory() !== true)
    throw new RefusedError('unavailable', `the repository has no folder \`${path}\``);
}

function inFolder(files: readonly WrittenTemplate[], folder: string | undefined): string[] {
  return files.map(({ name }) => (folder === undefined ? name : `${folder}/${name}`));
}

class Clone {
  readonly #options: Pick<GitOriginOptions, 'env' | 'git' | 'folder'>;

  constructor(options: Pick<GitOriginOptions, 'env' | 'git' | 'folder'>) {
    this.#options = options;
  }

  /** Is as the branch of the repository is now; a clone that cannot be brought there is made anew. */
  async update(signal: AbortSignal): Promise<void> {
    const { folder } = this.#options;
    if (fs.existsSync(join(folder, '.git'))) {
      try {
        await this.#fetch(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(await isBroken(error))) throw error;
        await rm(folder, { recursive: true, force: true });
      }
    }
    const { default: git } = await import('isomorphic-git');
    const { url, branch } = this.#options.git;
    const ref = branch === undefined ? {} : { ref: branch };
    try {
      await git.clone({ ...this.#remote(signal), url, ...ref, singleBranch: true, depth: 1 });
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { default: git } = await import('isomorphic-git');
    const remote = this.#remote(signal);
    const ref = await this.#branch();
    const { fetchHead } = await git.fetch({ ...remote, ref, singleBranch: true, depth: 1 });
    if (fetchHead === null) throw noBranch(ref);
    await git.writeRef({ ...remote, ref: `refs/heads/${ref}`, value: fetchHead, force: true });
    await git.checkout({ ...remote, ref, force: true });
    await this.#dropUnpublished();
  }

  /** A server that was killed while it published left files that the repository does not have. */
  async #dropUnpublished(): Promise<void> {
    const { default: git } = await import('isomorphic-git');
    const { folder: dir, git: settings } = this.#options;
    const filepaths = settings.path === undefined ? {} : { filepaths: [settings.path] };
    const matrix = await git.statusMatrix({ fs, dir, ignored: true, ...filepaths });
    for (const [filepath, head] of matrix) {
      if (head !== 0) continue;
      await git.remove({ fs, dir, filepath });
      await rm(join(dir, filepath), { force: true });
    }
  }

  async push(names: readonly string[], about: Publication): Promise<string> {
    const { default: git } = await import('isomorphic-git');
    const { folder: dir, git: settings } = this.#options;
    for (const filepath of names) await git.add({ fs, dir, filepath });
    const states = await Promise.all(names.map((filepath) => git.status({ fs, dir, filepath })));
    const commit = states.every((state) => state === 'unmodified')
      ? await git.resolveRef({ fs, dir, ref: 'HEAD' })
      : await this.#pushCommit(about);
    return `${settings.url}#${commit.slice(0, 12)}:${names[0] ?? ''}`;
  }

  async #pushCommit({ message, author, signal }: Publication): Promise<string> {
    const { default: git } = await import('isomorphic-git');
    const remote = this.#remote(signal);
    const email = `${author.replaceAll(/[^\w.-]+/g, '-')}@headgate.invalid`;
    const commit = await git.commit({ ...remote, message, author: { name: author, email } });
    const { ok, error } = await git.push({ ...remote, ref: await this.#branch() });
    if (!ok) throw new Error(error ?? 'the repository refused the commit');
    return commit;
  }

  async #branch(): Promise<string> {
    const { default: git } = await import('isomorphic-git');
    const { folder: dir, git: settings } = this.#options;
    const current = settings.branch ?? (await git.currentBranch({ fs, dir }));
    if (typeof current !== 'string') throw new Error('the repository has no branch');
    return current;
  }

  #remote(signal: AbortSignal) {
    const { env, git, folder: dir } = this.#options;
    const { token_env: variable, username = 'x-access-token' } = git;
    const token = variable === undefined ? undefined : env.variables[variable];
    if (variable !== undefined && (token === undefined || token === ''))
      throw new RefusedError('unavailable', `the variable ${variable} is not set`);
    if (token !== undefined) env.redactor.register(token);
    return {
      fs,
      dir,
      http: { request: (request: GitRequest) => answerTo(request, env.fetch, signal) },
      ...(token === undefined ? {} : { onAuth: () => ({ username, password: token }) }),
      // A wrong token is asked for again otherwise.
      onAuthFailure: () => ({ cancel: true }),
    };
  }
}

interface GitRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: AsyncIterableIterator<Uint8Array>;
}

async function answerTo(
  { url, method = 'GET', headers = {}, body }: GitRequest,
  fetch: Env['fetch'],
  signal: AbortSignal,
) {
  const parts: Uint8Array[] = [];
  if (body !== undefined) for await (const part of body) parts.push(part);
  const answer = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: Buffer.concat(parts) }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
  });
  const bytes = await readLimitedBytes(answer, MOST_ANSWER_BYTES);
  if (bytes === undefined)
    throw new RefusedError(
      'unavailable',
      `the repository sends more than ${MOST_ANSWER_BYTES / 1024 / 1024} MB`,
      { hint: 'keep templates in a repository of their own' },
    );
  return {
    url: answer.url,
    method,
    statusCode: answer.status,
    statusMessage: answer.statusText,
    headers: Object.fromEntries(answer.headers),
    body: [bytes][Symbol.iterator]() as unknown as AsyncIterableIterator<Uint8Array>,
  };
}

/** What lies in the folder is at fault, not the network or the repository. */
async function isBroken(error: unknown): Promise<boolean> {
  const { Errors } = await import('isomorphic-git');
  return (
    error instanceof Errors.NotFoundError ||
    error instanceof Errors.InternalError ||
    error instanceof Errors.ObjectTypeError ||
    (error as NodeJS.ErrnoException).code === 'ENOENT'
  );
}

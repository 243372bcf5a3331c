/** Repositories over HTTP, served by git itself (`git http-backend`). */
import { execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface GitHost {
  /** Address of the repository. */
  readonly url: string;
  /** Runs git in a work tree of its own and pushes; files by name. */
  commit(files: Readonly<Record<string, string | null>>): void;
  /** A file as it is on the branch now. */
  show(name: string): string;
  /** Subjects of the commits, newest first. */
  log(): string[];
  close(): void;
}

/** One repository with the branch `main`, that takes this token and no other. */
export async function gitHost(folder: string, token: string): Promise<GitHost> {
  const bare = join(folder, 'repository.git');
  const tree = join(folder, 'work');
  const git = (cwd: string, ...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  git(folder, 'init', '-q', '--bare', '-b', 'main', bare);
  git(bare, 'config', 'http.receivepack', 'true');
  git(folder, 'clone', '-q', bare, tree);
  git(tree, 'checkout', '-q', '-B', 'main');
  const server = createServer((request, response) => {
    const wanted = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
    if (request.headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const url = new URL(request.url ?? '/', 'http://localhost');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: 'tests',
        REMOTE_ADDR: '127.0.0.1',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
    });
    request.pipe(backend.stdin);
    const parts: Buffer[] = [];
    backend.stdout.on('data', (part: Buffer) => parts.push(part));
    backend.on('close', () => {
      const whole = Buffer.concat(parts);
      const end = whole.indexOf('\r\n\r\n');
      const lines = whole.subarray(0, end).toString().split('\r\n');
      const headers = lines.map((line) => line.split(': ', 2) as [string, string]);
      const status = headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? '200';
      response.writeHead(Number(status), Object.fromEntries(headers)).end(whole.subarray(end + 4));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((ready) => server.once('listening', ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/repository.git`,
    commit: (files) => {
      if (git(bare, 'branch').includes('main')) git(tree, 'pull', '-q', 'origin', 'main');
      for (const [name, content] of Object.entries(files)) {
        if (content === null) git(tree, 'rm', '-q', name);
        else {
          const { mkdirSync, writeFileSync } = process.getBuiltinModule('node:fs');
          mkdirSync(join(tree, name, '..'), { recursive: true });
          writeFileSync(join(tree, name), content);
          git(tree, 'add', name);
        }
      }
      git(tree, 'commit', '-q', '-m', `change ${Object.keys(files).join(' ')}`);
      git(tree, 'push', '-q', 'origin', 'main');
    },
    show: (name) => git(bare, 'show', `main:${name}`),
    log: () => git(bare, 'log', '--format=%s', 'main').trim().split('\n'),
    close: () => server.close(),
  };
}

/**
 * RabbitMQ for tests; Debian's package has it. It takes seconds to start, and many on a machine that
 * is busy, so that it is used only where it is asked for.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { join } from 'node:path';
import { requiredOrReason } from './installed.ts';
import {
  freePort,
  portAnswers,
  serverFolder,
  startServer,
  type TestServer,
} from './test-servers.ts';

/** Starts it as whoever runs the tests, where the one on the path wants its own user. */
const PROGRAM = '/usr/lib/rabbitmq/bin/rabbitmq-server';
const START_MS = 240_000;

export interface RabbitmqServer extends TestServer {
  /** Messages of a queue, those that were delivered and not acknowledged too. */
  messagesIn(queue: string): Promise<number>;
}

export const rabbitmq = requiredOrReason('rabbitmq-server', startRabbitmq);

async function startRabbitmq(): Promise<RabbitmqServer> {
  const [port, distribution, epmd] = [await freePort(), await freePort(), await freePort()];
  const folder = await serverFolder('rabbitmq');
  const node = `headgate${port}@localhost`;
  const variables = {
    HOME: folder,
    RABBITMQ_NODENAME: node,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none-env'),
    RABBITMQ_LOGS: '-',
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmd),
  };
  // The table of nodes, which the server would start for good.
  const nodes = spawn('epmd', ['-port', String(epmd), '-address', '127.0.0.1'], {
    stdio: 'ignore',
  });
  const server = await startServer({
    argv: [PROGRAM],
    variables,
    port,
    folder,
    isScript: true,
    startMs: START_MS,
    survives: ['SIGTERM', 'SIGKILL'],
    isReady: () => portAnswers(port),
  });
  const questions = new Questions(node, variables);
  return {
    ...server,
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    messagesIn: (queue) => questions.ask(queue),
    async stop() {
      await questions.stop();
      await server.stop();
      nodes.kill();
    },
  };
}

/** A node that asks the server, over and over: `rabbitmqctl` would start one for each question. */
class Questions {
  readonly #node: string;
  readonly #variables: Readonly<Record<string, string>>;
  #process: ChildProcessWithoutNullStreams | undefined;
  #lines: Interface | undefined;

  constructor(node: string, variables: Readonly<Record<string, string>>) {
    this.#node = node;
    this.#variables = variables;
  }

  async ask(queue: string): Promise<number> {
    this.#process ??= this.#start();
    this.#lines ??= createInterface({ input: this.#process.stdout });
    const answer = new Promise<string>((done) => this.#lines?.once('line', done));
    this.#process.stdin.write(`${queue}\n`);
    const count = Number(await answer);
    if (!Number.isInteger(count)) throw new Error(`the server says ${await answer} of ${queue}`);
    return count;
  }

  async stop(): Promise<void> {
    const asking = this.#process;
    if (asking === undefined) return;
    const ended = new Promise((done) => asking.once('exit', done));
    if (asking.exitCode === null && asking.kill('SIGKILL')) await ended;
  }

  #start(): ChildProcessWithoutNullStreams {
    const name = this.#node.replace('headgate', 'asking');
    const answering = `
      Ask = fun(Queue) ->
        Name = {resource, <<"/">>, queue, Queue},
        {ok, Found} = rpc:call('${this.#node}', rabbit_amqqueue, lookup, [Name]),
        [{messages, Count}] = rpc:call('${this.#node}', rabbit_amqqueue, info, [Found, [messages]]),
        Count end,
      Loop = fun(Again) -> case io:get_line("") of
        eof -> init:stop();
        Line ->
          io:format("~p~n", [catch Ask(list_to_binary(string:trim(Line)))]),
          Again(Again) end end,
      Loop(Loop).`;
    return spawn('erl', ['-noshell', '-sname', name, '-eval', answering], {
      env: { ...process.env, ...this.#variables },
    });
  }
}

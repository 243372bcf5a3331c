/** A small server of queues: visibility, long polls, batches with their limits, groups of FIFO queues. */
import { createHash, randomUUID } from 'node:crypto';
import type { Reply, SeenRequest } from '../http-server.ts';
import { answerCall, Fault, type Input, type Operation } from './protocol.ts';

interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string | undefined;
  visibleAtMs: number;
  handle: string | undefined;
}

interface Queue {
  readonly isFifo: boolean;
  readonly messages: Message[];
  readonly seenIds: Set<string>;
}

const MOST_BYTES = 262_144;

type Entry = Readonly<Record<string, string | number | undefined>>;

export class FakeSqs {
  readonly #queues = new Map<string, Queue>();
  /** Time that has passed besides the real one. */
  skippedMs = 0;
  readonly #waiting = new Set<() => void>();
  readonly #operations: Readonly<Record<string, Operation>> = {
    CreateQueue: (input, request) => this.#create(input, request),
    GetQueueAttributes: (input) => this.#attributes(input),
    ReceiveMessage: (input, request) => this.#receive(input, request),
    SendMessageBatch: (input) => this.#sendBatch(input),
    DeleteMessageBatch: (input) => this.#deleteBatch(input),
    ChangeMessageVisibility: (input) => this.#hide(this.#queueOf(input), input),
    ChangeMessageVisibilityBatch: (input) => this.#hideBatch(input),
  };

  answer(request: SeenRequest): Promise<Reply> {
    return answerCall(request, this.#operations);
  }

  get #now(): number {
    return performance.now() + this.skippedMs;
  }

  #named(name: string): Queue {
    const queue = this.#queues.get(name);
    if (queue !== undefined) return queue;
    throw new Fault('QueueDoesNotExist', 'The specified queue does not exist.');
  }

  #queueOf({ QueueUrl: url }: Input): Queue {
    return this.#named(new URL(String(url)).pathname.split('/').at(-1) ?? '');
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #add(
    queue: Queue,
    { body, group }: { readonly body: string; readonly group?: string | undefined },
  ): string {
    const id = randomUUID();
    queue.messages.push({ id, body, group, visibleAtMs: 0, handle: undefined });
    return id;
  }

  #create({ QueueName: name }: Input, { headers }: SeenRequest): unknown {
    const queue = {
      isFifo: String(name).endsWith('.fifo'),
      messages: [],
      seenIds: new Set<string>(),
    };
    this.#queues.set(String(name), queue);
    return { QueueUrl: `http://${headers['host']}/000000000000/${String(name)}` };
  }

  #attributes(input: Input): unknown {
    const { messages } = this.#queueOf(input);
    const visible = messages.filter(({ visibleAtMs }) => visibleAtMs <= this.#now).length;
    return {
      Attributes: {
        QueueArn: 'arn:aws:sqs:us-east-1:000000000000:queue',
        ApproximateNumberOfMessages: String(visible),
        ApproximateNumberOfMessagesNotVisible: String(messages.length - visible),
      },
    };
  }

  async #receive(input: Input, { gone }: SeenRequest): Promise<unknown> {
    const queue = this.#queueOf(input);
    const most = Number(input['MaxNumberOfMessages'] ?? 1);
    if (!(most >= 1 && most <= 10)) throw new Fault('InvalidParameterValue', 'from 1 to 10');
    const hiddenMs = Number(input['VisibilityTimeout'] ?? 30) * 1000;
    const until = performance.now() + Number(input['WaitTimeSeconds'] ?? 0) * 1000;
    for (;;) {
      const found = gone.aborted ? [] : this.#visible(queue).slice(0, most);
      const leftMs = until - performance.now();
      if (found.length > 0 || leftMs <= 0 || gone.aborted)
        return found.length === 0
          ? {}
          : { Messages: found.map((one) => this.#hand(one, hiddenMs)) };
      await this.#arrival(leftMs, gone);
    }
  }

  /** Something was sent or given back, time has passed, or nobody waits any more. */
  #arrival(ms: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        gone.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, 50));
      this.#waiting.add(done);
      gone.addEventListener('abort', done);
    });
  }

  /** Nothing of a group of which messages are out. */
  #visible({ messages, isFifo }: Queue): Message[] {
    const now = this.#now;
    const out = new Set(
      messages.filter(({ visibleAtMs }) => visibleAtMs > now).map(({ group }) => group),
    );
    return messages.filter(
      ({ visibleAtMs, group }) => visibleAtMs <= now && !(isFifo && out.has(group)),
    );
  }

  #hand(message: Message, hiddenMs: number): unknown {
    message.visibleAtMs = this.#now + hiddenMs;
    message.handle = randomUUID();
    const { id, body, handle } = message;
    return { MessageId: id, ReceiptHandle: handle, Body: body, MD5OfBody: md5(body) };
  }

  #sendBatch(input: Input): unknown {
    const queue = this.#queueOf(input);
    const entries = entriesOf(input);
    const sizes = entries.map(({ MessageBody: body = '' }) => Buffer.byteLength(String(body)));
    if (sizes.reduce((sum, size) => sum + size, 0) > MOST_BYTES)
      throw new Fault('BatchRequestTooLong', 'Batch requests cannot be longer than 262144 bytes.');
    const outcome = perEntry(entries, (entry) => {
      const { MessageBody: body = '', MessageGroupId: group, MessageDeduplicationId: own } = entry;
      const text = String(body);
      // oxlint-disable-next-line no-control-regex
      if (/[\u0000-\u0008\ufffe\uffff]/.test(text))
        throw new Fault(
          'InvalidMessageContents',
          'The message contains characters outside the allowed set.',
        );
      if (queue.isFifo && group === undefined)
        throw new Fault(
          'MissingParameter',
          'The request must contain the parameter MessageGroupId.',
        );
      if (!queue.isFifo && own !== undefined)
        throw new Fault('InvalidParameterValue', 'MessageDeduplicationId is not valid here.');
      const id = String(own ?? md5(text));
      const isKnown = queue.isFifo && queue.seenIds.has(id);
      queue.seenIds.add(id);
      const messageId = isKnown
        ? randomUUID()
        : this.#add(queue, { body: text, group: group === undefined ? undefined : String(group) });
      return { MessageId: messageId, MD5OfMessageBody: md5(text) };
    });
    this.#wake();
    return outcome;
  }

  #deleteBatch(input: Input): unknown {
    const queue = this.#queueOf(input);
    return perEntry(entriesOf(input), ({ ReceiptHandle: handle }) => {
      const at = queue.messages.findIndex((one) => one.handle === handle);
      if (at === -1) return {};
      queue.messages.splice(at, 1);
      this.#wake();
      return {};
    });
  }

  #hideBatch(input: Input): unknown {
    const queue = this.#queueOf(input);
    return perEntry(entriesOf(input), (entry) => this.#hide(queue, entry));
  }

  #hide(queue: Queue, { ReceiptHandle: handle, VisibilityTimeout: seconds }: Input): object {
    const message = queue.messages.find((one) => one.handle === handle);
    if (message === undefined || message.visibleAtMs <= this.#now)
      throw new Fault('MessageNotInflight', 'The message is not in flight.');
    message.visibleAtMs = this.#now + Number(seconds) * 1000;
    this.#wake();
    return {};
  }
}

function entriesOf({ Entries: entries }: Input): readonly Entry[] {
  const found = (entries ?? []) as readonly Entry[];
  if (found.length === 0) throw new Fault('EmptyBatchRequest', 'There are no entries.');
  if (found.length > 10)
    throw new Fault(
      'TooManyEntriesInBatchRequest',
      'Maximum number of entries per request are 10.',
    );
  if (new Set(found.map(({ Id: id }) => id)).size < found.length)
    throw new Fault('BatchEntryIdsNotDistinct', 'Two entries have the same id.');
  return found;
}

function perEntry(entries: readonly Entry[], work: (entry: Entry) => object): unknown {
  const [Successful, Failed]: [unknown[], unknown[]] = [[], []];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry['Id'], ...work(entry) });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      Failed.push({ Id: entry['Id'], SenderFault: true, Code: error.type, Message: error.message });
    }
  }
  return { Successful, Failed };
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

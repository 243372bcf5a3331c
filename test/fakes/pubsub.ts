/** A small Pub/Sub over gRPC, which keeps the order of messages and gives them numbers as names. */
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
  type StatusObject,
} from '@grpc/grpc-js';
import * as wire from '@bufbuild/protobuf/wire';
import { decoded, encoded, messageType, one } from '../../src/connectors/_google/messages.ts';
import type { Method } from '../../src/connectors/_google/service.ts';
import {
  ACKNOWLEDGE,
  CREATE_SUBSCRIPTION,
  CREATE_TOPIC,
  GET_SUBSCRIPTION,
  GET_TOPIC,
  MODIFY_DEADLINE,
  PUBLISH,
  PULL,
  type PubsubMessage,
  type ReceivedMessage,
  type Subscription,
} from '../../src/connectors/pubsub/api.ts';

interface Pulling {
  readonly subscription: string;
  readonly at_once: boolean;
  readonly max_messages: number;
}

const PULLING = {
  ...PULL,
  request: messageType<Pulling>({
    subscription: one(1, 'string'),
    at_once: one(2, 'bool'),
    max_messages: one(3, 'int32'),
  }),
};

/** What the message of that number says of its time. */
export const publishedAt = (number: number): number => 1_767_225_600_000 + number;

interface Delivery {
  readonly message: PubsubMessage;
  attempts: number;
  /** Of the last delivery; absent while it waits. */
  ackId?: string | undefined;
  isDone: boolean;
}

interface Subscribed extends Subscription {
  readonly deliveries: Delivery[];
}

export interface SeenCall {
  readonly method: string;
  readonly request: object;
  readonly headers: Readonly<Record<string, unknown>>;
}

export type Fault = Partial<StatusObject> & { readonly code: number };

export class FakePubsub {
  address = '';
  readonly calls: SeenCall[] = [];
  /** A status in place of an answer. */
  fault: ((method: string, request: never) => Fault | undefined) | undefined;
  readonly topics = new Map<string, PubsubMessage[]>();
  readonly #subscriptions = new Map<string, Subscribed>();
  readonly #server = new Server({ 'grpc.max_receive_message_length': -1 });
  #wake = Promise.withResolvers<void>();

  static async start(): Promise<FakePubsub> {
    const fake = new FakePubsub();
    fake.#serve();
    const port = await new Promise<number>((done, fail) =>
      fake.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, found) =>
        error === null ? done(found) : fail(error),
      ),
    );
    fake.address = `127.0.0.1:${port}`;
    return fake;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  /** Messages of the subscription that nobody has acknowledged. */
  left(subscription: string): number {
    return this.#found(subscription).deliveries.filter(({ isDone }) => !isDone).length;
  }

  /** What happens when the time for which messages are held is over. */
  expire(subscription: string): void {
    for (const delivery of this.#found(subscription).deliveries) delivery.ackId = undefined;
    this.#changed();
  }

  #serve(): void {
    this.#method(CREATE_TOPIC, ({ name }) => {
      this.topics.set(name, []);
      return { name };
    });
    this.#method(GET_TOPIC, ({ topic }) => {
      this.#topic(topic);
      return { name: topic };
    });
    this.#method(CREATE_SUBSCRIPTION, (subscription) => {
      this.#subscriptions.set(subscription.name, { ...subscription, deliveries: [] });
      return subscription;
    });
    this.#method(GET_SUBSCRIPTION, ({ subscription }) => this.#found(subscription));
    this.#method(PUBLISH, ({ topic, messages }) => ({
      message_ids: this.#publish(topic, messages),
    }));
    this.#method(PULLING, async ({ subscription, max_messages: most, at_once: atOnce }, isGone) => {
      const { deliveries } = this.#found(subscription);
      for (;;) {
        const waiting = deliveries.filter(({ ackId, isDone }) => !isDone && ackId === undefined);
        if (isGone() || atOnce || waiting.length > 0)
          return { received_messages: isGone() ? [] : this.#deliver(waiting.slice(0, most)) };
        await this.#wake.promise;
      }
    });
    this.#method(ACKNOWLEDGE, ({ subscription, ack_ids: ids }) => {
      for (const delivery of this.#of(subscription, ids)) delivery.isDone = true;
      return {};
    });
    this.#method(
      MODIFY_DEADLINE,
      ({ subscription, ack_ids: ids, ack_deadline_seconds: seconds }) => {
        if (seconds === 0)
          for (const delivery of this.#of(subscription, ids)) delivery.ackId = undefined;
        this.#changed();
        return {};
      },
    );
  }

  #publish(topic: string, messages: readonly PubsubMessage[]): string[] {
    const stored = this.#topic(topic);
    return messages.map((given) => {
      const number = stored.length + 1;
      const at = publishedAt(number);
      const publish_time = {
        seconds: BigInt(Math.floor(at / 1000)),
        nanos: (at % 1000) * 1_000_000,
      };
      const message = { ...given, message_id: String(number), publish_time };
      stored.push(message);
      for (const subscription of this.#subscriptions.values())
        if (subscription.topic === topic)
          subscription.deliveries.push({ message, attempts: 0, isDone: false });
      this.#changed();
      return String(number);
    });
  }

  #deliver(deliveries: readonly Delivery[]): ReceivedMessage[] {
    return deliveries.map((delivery) => {
      delivery.attempts += 1;
      const { message, attempts } = delivery;
      delivery.ackId = `${message.message_id}-${attempts}`;
      return { ack_id: delivery.ackId, message, delivery_attempt: 0 };
    });
  }

  #of(subscription: string, ids: readonly string[]): Delivery[] {
    return this.#found(subscription).deliveries.filter(
      ({ ackId }) => ackId !== undefined && ids.includes(ackId),
    );
  }

  #topic(name: string): PubsubMessage[] {
    const found = this.topics.get(name);
    if (found === undefined) throw missing(name);
    return found;
  }

  #found(name: string): Subscribed {
    const found = this.#subscriptions.get(name);
    if (found === undefined) throw missing(name);
    return found;
  }

  #changed(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  #method<Q extends object, A extends object>(
    { path, request: type, answer: answerType }: Method<Q, A>,
    answer: (request: Q, isGone: () => boolean) => Promise<A> | A,
  ): void {
    const handle = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
      const request = decoded(wire, type, call.request);
      const method = path.slice(path.lastIndexOf('/') + 1);
      this.calls.push({ method, request, headers: call.metadata.getMap() });
      const fault = this.fault?.(method, request as never);
      if (fault !== undefined) {
        done({ metadata: new Metadata(), ...fault });
        return;
      }
      call.on('cancelled', () => this.#changed());
      Promise.resolve()
        .then(() => answer(request, () => call.cancelled))
        .then(
          (given) => done(null, encoded(wire, answerType, given)),
          (error: unknown) => done(error as Fault),
        );
    };
    const definition = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    this.#server.addService({ [path]: definition }, { [path]: handle });
  }
}

const asIs = (bytes: Buffer): Buffer => bytes;

function missing(name: string): Fault {
  return { code: status.NOT_FOUND, details: `Resource not found (resource=${name}).` };
}

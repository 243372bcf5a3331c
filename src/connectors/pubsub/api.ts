/** What is used of the protocol of Pub/Sub, by the numbers that its public description gives. */
import {
  EMPTY,
  INSTANT,
  messageType,
  named,
  one,
  some,
  told,
  type Instant,
} from '../_google/messages.ts';
import type { Method } from '../_google/service.ts';

export interface PubsubMessage {
  readonly data: Uint8Array;
  readonly attributes: Readonly<Record<string, string>>;
  readonly message_id?: string | undefined;
  readonly publish_time?: Instant | undefined;
  readonly ordering_key: string;
}

export interface ReceivedMessage {
  /** Of this delivery; the next one of the same message has another. */
  readonly ack_id: string;
  readonly message: PubsubMessage;
  /** 0 where the subscription has no topic for dead letters. */
  readonly delivery_attempt: number;
}

const MESSAGE = messageType<PubsubMessage>({
  data: one(1, 'bytes'),
  attributes: named(2, 'string'),
  message_id: one(3, 'string'),
  publish_time: told(4, INSTANT),
  ordering_key: one(5, 'string'),
});

const RECEIVED = messageType<ReceivedMessage>({
  ack_id: one(1, 'string'),
  message: one(2, MESSAGE),
  delivery_attempt: one(3, 'int32'),
});

interface PublishRequest {
  readonly topic: string;
  readonly messages: readonly PubsubMessage[];
}

interface PullRequest {
  readonly subscription: string;
  readonly max_messages: number;
}

interface AckRequest {
  readonly subscription: string;
  readonly ack_ids: readonly string[];
}

interface DeadlineRequest extends AckRequest {
  readonly ack_deadline_seconds: number;
}

export interface Subscription {
  readonly name: string;
  readonly topic: string;
  readonly ack_deadline_seconds?: number;
  readonly enable_message_ordering?: boolean;
  readonly dead_letter_policy?:
    | { readonly dead_letter_topic: string; readonly max_delivery_attempts: number }
    | undefined;
}

const TOPIC = messageType<{ name: string }>({ name: one(1, 'string') });

const SUBSCRIPTION = messageType<Subscription>({
  name: one(1, 'string'),
  topic: one(2, 'string'),
  ack_deadline_seconds: one(5, 'int32'),
  enable_message_ordering: one(10, 'bool'),
  dead_letter_policy: told(
    13,
    messageType({ dead_letter_topic: one(1, 'string'), max_delivery_attempts: one(2, 'int32') }),
  ),
});

const publisher = '/google.pubsub.v1.Publisher';
const subscriber = '/google.pubsub.v1.Subscriber';

export const PUBLISH: Method<PublishRequest, { message_ids: readonly string[] }> = {
  path: `${publisher}/Publish`,
  request: messageType<PublishRequest>({ topic: one(1, 'string'), messages: some(2, MESSAGE) }),
  answer: messageType<{ message_ids: readonly string[] }>({ message_ids: some(1, 'string') }),
};

export const GET_TOPIC: Method<{ topic: string }, { name: string }> = {
  path: `${publisher}/GetTopic`,
  request: messageType<{ topic: string }>({ topic: one(1, 'string') }),
  answer: TOPIC,
};

export const CREATE_TOPIC: Method<{ name: string }, { name: string }> = {
  path: `${publisher}/CreateTopic`,
  request: TOPIC,
  answer: TOPIC,
};

export const GET_SUBSCRIPTION: Method<{ subscription: string }, Subscription> = {
  path: `${subscriber}/GetSubscription`,
  request: messageType<{ subscription: string }>({ subscription: one(1, 'string') }),
  answer: SUBSCRIPTION,
};

export const CREATE_SUBSCRIPTION: Method<Subscription, Subscription> = {
  path: `${subscriber}/CreateSubscription`,
  request: SUBSCRIPTION,
  answer: SUBSCRIPTION,
};

export const PULL: Method<PullRequest, { received_messages: readonly ReceivedMessage[] }> = {
  path: `${subscriber}/Pull`,
  request: messageType<PullRequest>({
    subscription: one(1, 'string'),
    max_messages: one(3, 'int32'),
  }),
  answer: messageType<{ received_messages: readonly ReceivedMessage[] }>({
    received_messages: some(1, RECEIVED),
  }),
};

export const ACKNOWLEDGE: Method<AckRequest, object> = {
  path: `${subscriber}/Acknowledge`,
  request: messageType<AckRequest>({ subscription: one(1, 'string'), ack_ids: some(2, 'string') }),
  answer: EMPTY,
};

export const MODIFY_DEADLINE: Method<DeadlineRequest, object> = {
  path: `${subscriber}/ModifyAckDeadline`,
  request: messageType<DeadlineRequest>({
    subscription: one(1, 'string'),
    ack_deadline_seconds: one(3, 'int32'),
    ack_ids: some(4, 'string'),
  }),
  answer: EMPTY,
};

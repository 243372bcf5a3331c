/** A gRPC server in this process, and the file of descriptors of its service. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, createFileRegistry, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, JsonValue as LibraryJson, MessageInitShape } from '@bufbuild/protobuf';
import {
  type FieldDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_timestamp as timestamp,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import {
  Server,
  ServerCredentials,
  status,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import type { JsonObject } from '../../src/lib/text/json.ts';

export type Call = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** What a method does; a thrown `{code, details}` is the status that its caller gets. */
export interface Answers {
  list?(this: void, request: JsonObject, call: Call): Promise<JsonObject> | JsonObject;
  /** The stream ends when it has resolved. */
  watch?(
    this: void,
    send: (item: JsonObject) => void,
    call: ServerWritableStream<Buffer, Buffer>,
  ): Promise<void> | void;
}

export interface FakeGrpcServer {
  readonly address: string;
  readonly url: string;
  /** The file of descriptors. */
  readonly descriptors: string;
  /** The same without what it imports. */
  readonly withoutImports: string;
  /** What its methods do from now on. */
  answers: Answers;
  close(): Promise<void>;
}

type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>;

const field = (name: string, number: number, type: Type, more: object = {}): Field => ({
  name,
  number,
  type,
  label: Label.OPTIONAL,
  jsonName: name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
  ...more,
});
const repeated = { label: Label.REPEATED };
const ofType = (typeName: string): object => ({ typeName });

const FILE = create(FileDescriptorProtoSchema, {
  name: 'shop/v1/orders.proto',
  package: 'shop.v1',
  syntax: 'proto3',
  dependency: ['google/protobuf/timestamp.proto'],
  enumType: [
    {
      name: 'State',
      value: [
        { name: 'STATE_UNSPECIFIED', number: 0 },
        { name: 'STATE_PAID', number: 1 },
      ],
    },
  ],
  messageType: [
    {
      name: 'ListRequest',
      field: [
        field('page_size', 1, Type.INT32),
        field('since', 2, Type.MESSAGE, ofType('.google.protobuf.Timestamp')),
        field('above', 3, Type.INT64),
        field('note', 4, Type.STRING),
      ],
    },
    {
      name: 'Order',
      field: [
        field('order_id', 1, Type.INT64),
        field('v', 2, Type.STRING),
        field('half', 3, Type.DOUBLE),
        field('raw', 4, Type.BYTES),
        field('state', 5, Type.ENUM, ofType('.shop.v1.State')),
        field('tags', 6, Type.STRING, repeated),
        field('placed_at', 7, Type.MESSAGE, ofType('.google.protobuf.Timestamp')),
        field('part', 8, Type.MESSAGE, ofType('.shop.v1.Order')),
        field('counts', 9, Type.MESSAGE, { ...repeated, ...ofType('.shop.v1.Order.CountsEntry') }),
      ],
      nestedType: [
        {
          name: 'CountsEntry',
          field: [field('key', 1, Type.STRING), field('value', 2, Type.INT32)],
          options: { mapEntry: true },
        },
      ],
    },
    {
      name: 'ListAnswer',
      field: [field('orders', 1, Type.MESSAGE, { ...repeated, ...ofType('.shop.v1.Order') })],
    },
  ],
  service: [
    {
      name: 'Orders',
      method: [
        { name: 'List', inputType: '.shop.v1.ListRequest', outputType: '.shop.v1.ListAnswer' },
        {
          name: 'Watch',
          inputType: '.shop.v1.ListRequest',
          outputType: '.shop.v1.Order',
          serverStreaming: true,
        },
        {
          name: 'Talk',
          inputType: '.shop.v1.ListRequest',
          outputType: '.shop.v1.Order',
          clientStreaming: true,
          serverStreaming: true,
        },
      ],
    },
  ],
});

const setOf = (...file: readonly FileDescriptorProto[]) =>
  create(FileDescriptorSetSchema, { file: [...file] });
const WHOLE = setOf(timestamp.proto, FILE);
const REGISTRY = createFileRegistry(WHOLE);

function message(name: string): DescMessage {
  const found = REGISTRY.getMessage(`shop.v1.${name}`);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}

/** The bytes of a message, as its JSON says. */
export function encode(name: string, json: JsonObject): Buffer {
  const type = message(name);
  return Buffer.from(toBinary(type, fromJson(type, json as LibraryJson, { registry: REGISTRY })));
}

const asIs = (bytes: Buffer): Buffer => bytes;
const method = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

export async function startGrpcServer(
  credentials: ServerCredentials = ServerCredentials.createInsecure(),
): Promise<FakeGrpcServer> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-grpc-'));
  const descriptors = join(folder, 'orders.binpb');
  const withoutImports = join(folder, 'alone.binpb');
  await writeFile(descriptors, toBinary(FileDescriptorSetSchema, WHOLE));
  await writeFile(withoutImports, toBinary(FileDescriptorSetSchema, setOf(FILE)));
  const server = new Server();
  const unimplemented = { code: status.UNIMPLEMENTED, details: 'not here' };
  const requestOf = ({ request }: Call): JsonObject => {
    const { $typeName: _type, ...fields } = fromBinary(message('ListRequest'), request);
    return fields as never;
  };
  const list = async (
    call: ServerUnaryCall<Buffer, Buffer>,
    done: sendUnaryData<Buffer>,
  ): Promise<void> => {
    try {
      if (fake.answers.list === undefined) throw unimplemented;
      done(null, encode('ListAnswer', await fake.answers.list(requestOf(call), call)));
    } catch (error) {
      done(error as never);
    }
  };
  const watch = async (call: ServerWritableStream<Buffer, Buffer>): Promise<void> => {
    try {
      if (fake.answers.watch === undefined) throw unimplemented;
      await fake.answers.watch((item) => call.write(encode('Order', item)), call);
      call.end();
    } catch (error) {
      call.emit('error', error);
    }
  };
  server.addService(
    { List: method('/shop.v1.Orders/List', false), Watch: method('/shop.v1.Orders/Watch', true) },
    {
      List: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
        void list(call, done),
      Watch: (call: ServerWritableStream<Buffer, Buffer>) => void watch(call),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const address = `127.0.0.1:${port}`;
  const fake: FakeGrpcServer = {
    address,
    url: `http://${address}`,
    descriptors,
    withoutImports,
    answers: {},
    async close() {
      server.forceShutdown();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return fake;
}

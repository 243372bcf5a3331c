/** A small server that answers as Spanner does: what a call answers is said by the test. */
import * as wire from '@bufbuild/protobuf/wire';
import {
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { decoded, encoded } from '../../src/connectors/_google/messages.ts';
import type { Method } from '../../src/connectors/_google/service.ts';
import {
  BEGIN_TRANSACTION,
  COMMIT,
  CREATE_SESSION,
  DELETE_SESSION,
  EXECUTE_SQL,
  EXECUTE_STREAMING_SQL,
  GET_OPERATION,
  ROLLBACK,
  UPDATE_DDL,
} from '../../src/connectors/spanner/api.ts';

export interface SeenCall {
  /** Its last word. */
  readonly method: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export interface Fault {
  readonly code: number;
  readonly details: string;
}

/** Messages, of which only a stream has several; a fault is the last one. */
export type Answers = readonly (object | Fault)[];

const USUAL: Readonly<Record<string, Answers>> = {
  CreateSession: [{ name: 'session' }],
  BeginTransaction: [{ id: Buffer.from('t') }],
};

export class FakeSpanner {
  host = '';
  readonly calls: SeenCall[] = [];
  /** Without an answer of the test a call succeeds. */
  answer: ((call: SeenCall) => Answers | undefined) | undefined;
  readonly #server = new Server();

  static async start(): Promise<FakeSpanner> {
    const fake = new FakeSpanner();
    fake.#unary(CREATE_SESSION);
    fake.#unary(DELETE_SESSION);
    fake.#unary(EXECUTE_SQL);
    fake.#unary(BEGIN_TRANSACTION);
    fake.#unary(COMMIT);
    fake.#unary(ROLLBACK);
    fake.#unary(UPDATE_DDL);
    fake.#unary(GET_OPERATION);
    fake.#stream(EXECUTE_STREAMING_SQL);
    const port = await new Promise<number>((done, fail) =>
      fake.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, found) =>
        error === null ? done(found) : fail(error),
      ),
    );
    fake.host = `127.0.0.1:${port}`;
    return fake;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  seen(method: string): readonly SeenCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  #unary<Q extends object, A extends object>(method: Method<Q, A>): void {
    const handle = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
      const [one = {}] = this.#answersTo(method, call.request);
      if (isFault(one)) done({ ...one, metadata: new Metadata() });
      else done(null, encoded(wire, method.answer, one as A));
    };
    this.#server.addService(
      { [method.path]: definitionOf(method, false) },
      { [method.path]: handle },
    );
  }

  #stream<Q extends object, A extends object>(method: Method<Q, A>): void {
    const handle = (call: ServerWritableStream<Buffer, Buffer>): void => {
      for (const one of this.#answersTo(method, call.request)) {
        if (isFault(one)) {
          call.emit('error', { ...one, metadata: new Metadata() });
          return;
        }
        call.write(encoded(wire, method.answer, one as A));
      }
      call.end();
    };
    this.#server.addService(
      { [method.path]: definitionOf(method, true) },
      { [method.path]: handle },
    );
  }

  #answersTo<Q extends object>(
    { path, request: type }: Pick<Method<Q, object>, 'path' | 'request'>,
    bytes: Buffer,
  ): Answers {
    const method = path.slice(path.lastIndexOf('/') + 1);
    const call = { method, request: decoded(wire, type, bytes) as SeenCall['request'] };
    this.calls.push(call);
    return this.answer?.(call) ?? USUAL[method] ?? [];
  }
}

const isFault = (one: object): one is Fault => 'code' in one && 'details' in one;

const asIs = (bytes: Buffer): Buffer => bytes;

const definitionOf = ({ path }: { readonly path: string }, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

/** The messages of a method, as a file of descriptors tells them. */
import { resolve } from 'node:path';
import type { DescMethod, FileRegistry } from '@bufbuild/protobuf';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import { loadClient } from '../../lib/load-client.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { GrpcConfig } from './config.ts';

const LONGEST_SET_BYTES = 256 * 1024 * 1024;

type Library = typeof import('@bufbuild/protobuf');
type LibraryJson = import('@bufbuild/protobuf').JsonValue;

const KINDS = {
  unary: 'answers with one message',
  server_streaming: 'answers with a stream of messages',
  client_streaming: 'takes a stream of messages',
  bidi_streaming: 'takes a stream of messages',
} as const;

export interface GrpcMethod {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Buffer;
  /** Throws `ConnectorError('data', …)` for bytes that are not of the answer's type. */
  decode(bytes: Uint8Array): JsonValue;
}

/** Finds the method, and encodes its request. */
export async function loadMethod(config: GrpcConfig, cwd: string): Promise<GrpcMethod> {
  const [library, { FileDescriptorSetSchema }] = await loadClient('@bufbuild/protobuf', () =>
    Promise.all([import('@bufbuild/protobuf'), import('@bufbuild/protobuf/wkt')]),
  );
  const bytes = await fileOf(config, cwd);
  const registry = refusing(`${config.descriptor_set_path} is no complete set of descriptors`, () =>
    library.createFileRegistry(library.fromBinary(FileDescriptorSetSchema, bytes)),
  );
  const method = methodOf(registry, config);
  const { input, output } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    request: requestOf(library, { method, registry, config }),
    decode(answer) {
      try {
        const message = library.fromBinary(output, answer);
        const options = { registry, alwaysEmitImplicit: config.include_defaults };
        return library.toJson(output, message, options) as JsonValue;
      } catch (error) {
        const what = `an answer of ${method.name} cannot be read as ${output.typeName}`;
        throw new ConnectorError('data', `${what}: ${messageOf(error)}`, {
          hint: `check whether ${config.descriptor_set_path} is of the version that the server has (it takes ${input.typeName})`,
          cause: error,
        });
      }
    },
  };
}

async function fileOf({ descriptor_set_path: path }: GrpcConfig, cwd: string): Promise<Buffer> {
  try {
    return await readRegular(resolve(cwd, path), { limitBytes: LONGEST_SET_BYTES });
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    const message = `the descriptors in ${path} cannot be read: ${messageOf(error)}`;
    throw new ConnectorError('missing', message, { cause: error });
  }
}

function refusing<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ConnectorError('refused', `${what}: ${messageOf(error)}`, {
      hint: 'write it with `protoc --include_imports --descriptor_set_out=FILE`, or `buf build -o FILE`',
      cause: error,
    });
  }
}

function methodOf(registry: FileRegistry, config: GrpcConfig): DescMethod {
  const { service_name: name, method_name: wanted, rpc_kind: kind } = config;
  const service = registry.getService(name);
  if (service === undefined) {
    const known = [...registry].filter((one) => one.kind === 'service');
    throw unknown(`the service \`${name}\``, config, {
      wanted: name,
      names: known.map(({ typeName }) => typeName),
    });
  }
  const method = service.methods.find((one) => one.name === wanted);
  if (method === undefined)
    throw unknown(`the method \`${wanted}\` of \`${name}\``, config, {
      wanted,
      names: service.methods.map((one) => one.name),
    });
  if (method.methodKind === kind) return method;
  throw new ConnectorError('refused', `\`${wanted}\` ${KINDS[method.methodKind]}`, {
    hint:
      method.methodKind === 'unary' || method.methodKind === 'server_streaming'
        ? `set \`rpc_kind: ${method.methodKind}\``
        : 'only unary and server streaming methods can be read',
  });
}

function unknown(
  what: string,
  { descriptor_set_path: path }: GrpcConfig,
  { wanted, names }: { readonly wanted: string; readonly names: readonly string[] },
): ConnectorError {
  return new ConnectorError('missing', `${path} does not describe ${what}`, {
    hint: suggestion(wanted, names, 'it has') ?? 'it describes none',
  });
}

function requestOf(
  library: Library,
  {
    method: { input, name },
    registry,
    config,
  }: { readonly method: DescMethod; readonly registry: FileRegistry; readonly config: GrpcConfig },
): Buffer {
  try {
    const message = library.fromJson(input, plain(config.request), { registry });
    return Buffer.from(library.toBinary(input, message));
  } catch (error) {
    const what = `\`request\` is no ${input.typeName}, which ${name} takes`;
    throw new ConnectorError('refused', `${what}: ${messageOf(error)}`, {
      hint: 'write the fields of the message as in its descriptors',
      cause: error,
    });
  }
}

/** Whole numbers beyond those of JavaScript are texts in the JSON of protocol buffers. */
function plain(value: JsonValue): LibraryJson {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

/** Lines of a connector. Others than messages of the protocol are told apart, never guessed at. */
import { isObject, parseData, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface StreamName {
  readonly name: string;
  readonly namespace: string | undefined;
}

export type Message =
  | { readonly type: 'RECORD'; readonly stream: StreamName; readonly data: JsonObject }
  | { readonly type: 'STATE'; readonly state: State }
  | { readonly type: 'LOG'; readonly level: string; readonly message: string }
  | { readonly type: 'TRACE'; readonly trace: JsonObject }
  | { readonly type: 'CONTROL'; readonly config: JsonObject | undefined }
  | { readonly type: 'SPEC'; readonly spec: JsonObject }
  | { readonly type: 'CATALOG'; readonly catalog: JsonObject }
  | { readonly type: 'CONNECTION_STATUS'; readonly status: JsonObject };

export interface State {
  /** What the connector is given as `--state` to go on there. */
  readonly value: JsonValue;
  /** Whose it is; all streams of the connector have one state without it. */
  readonly stream?: StreamName;
  /** Records that the connector wrote since its last state. */
  readonly count?: number;
  /** Records before the state that a destination says it has stored. */
  readonly stored?: number;
}

/** `undefined` for a line that is no message. */
export function readMessage(line: string): Message | undefined {
  const message = jsonOf(line);
  if (!isObject(message)) return undefined;
  switch (message['type']) {
    case 'RECORD':
      return recordIn(message['record']);
    case 'STATE': {
      const state = stateIn(message['state']);
      return state === undefined ? undefined : { type: 'STATE', state };
    }
    case 'LOG':
      return logIn(message['log']);
    case 'TRACE':
      return isObject(message['trace']) ? { type: 'TRACE', trace: message['trace'] } : undefined;
    case 'CONTROL':
      return controlIn(message['control']);
    case 'SPEC':
      return isObject(message['spec']) ? { type: 'SPEC', spec: message['spec'] } : undefined;
    case 'CATALOG':
      return isObject(message['catalog'])
        ? { type: 'CATALOG', catalog: message['catalog'] }
        : undefined;
    case 'CONNECTION_STATUS':
      return isObject(message['connectionStatus'])
        ? { type: 'CONNECTION_STATUS', status: message['connectionStatus'] }
        : undefined;
    default:
      return undefined;
  }
}

function recordIn(record: JsonValue | undefined): Message | undefined {
  if (!isObject(record) || !isObject(record['data'])) return undefined;
  const stream = nameIn({ name: record['stream'] ?? null, namespace: record['namespace'] ?? null });
  return stream === undefined ? undefined : { type: 'RECORD', stream, data: record['data'] };
}

function logIn(log: JsonValue | undefined): Message | undefined {
  if (!isObject(log) || typeof log['message'] !== 'string') return undefined;
  const { level, message } = log;
  return { type: 'LOG', level: typeof level === 'string' ? level : 'INFO', message };
}

function controlIn(control: JsonValue | undefined): Message | undefined {
  if (!isObject(control)) return undefined;
  const given = control['connectorConfig'];
  const config = isObject(given) && isObject(given['config']) ? given['config'] : undefined;
  return { type: 'CONTROL', config };
}

/** Of a stream, of all streams (`GLOBAL`), or of an older kind, which is only its data. */
function stateIn(state: JsonValue | undefined): State | undefined {
  if (!isObject(state)) return undefined;
  const { type = 'LEGACY', data } = state;
  const count = {
    ...countIn('count', state['sourceStats']),
    ...countIn('stored', state['destinationStats']),
  };
  if (type === 'LEGACY') return data === undefined ? undefined : { value: data, ...count };
  if (type === 'GLOBAL' && isObject(state['global']))
    return { value: [{ type, global: state['global'] }], ...count };
  if (type !== 'STREAM' || !isObject(state['stream'])) return undefined;
  const stream = nameIn(state['stream']['stream_descriptor']);
  if (stream === undefined) return undefined;
  return { value: [{ type, stream: state['stream'] }], stream, ...count };
}

function countIn(name: 'count' | 'stored', stats: JsonValue | undefined) {
  const given = isObject(stats) ? stats['recordCount'] : undefined;
  return typeof given === 'number' ? { [name]: given } : {};
}

export function nameIn(descriptor: JsonValue | undefined): StreamName | undefined {
  if (!isObject(descriptor)) return undefined;
  const { name, namespace } = descriptor;
  if (typeof name !== 'string') return undefined;
  return { name, namespace: typeof namespace === 'string' ? namespace : undefined };
}

/** A stream that is named without a namespace is the one of that name, whatever it has. */
export function isStream(
  one: StreamName | undefined,
  { stream, namespace }: { readonly stream: string; readonly namespace?: string | undefined },
): boolean {
  return one?.name === stream && (namespace === undefined || one.namespace === namespace);
}

function jsonOf(line: string): JsonValue | undefined {
  try {
    return parseData(line);
  } catch {
    return undefined;
  }
}

/** Compares records more strictly than a test library does: types, absent fields and minus zero. */
import { AssertionError } from 'node:assert';

interface Options {
  /** Whether fields have to stand in the same order. */
  readonly fieldOrder: boolean;
}

/** Where two values differ first, as text; `undefined` when they do not. */
export function difference(
  actual: unknown,
  expected: unknown,
  options: Options,
  path = '',
): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  if (!isPlain(actual) || !isPlain(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${path === '' ? 'the value' : path} is ${shown(actual)}, not ${shown(expected)}`;
  const names = Object.keys(expected);
  const found = Object.keys(actual);
  const missing = names.find((name) => !Object.hasOwn(actual, name));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  const added = found.find((name) => !Object.hasOwn(expected, name));
  if (added !== undefined) return `${path}.${added} should not be there`;
  if (options.fieldOrder && found.some((name, index) => name !== names[index]))
    return `${path === '' ? 'the record' : path} has its fields in the order ${found.join(', ')}, not ${names.join(', ')}`;
  for (const name of names) {
    const inner = difference(actual[name], expected[name], options, `${path}.${name}`);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** Throws unless both lists hold the same records in the same order. */
export function assertSame(
  actual: readonly unknown[],
  expected: readonly unknown[],
  when: string,
  options: Options = { fieldOrder: true },
): void {
  for (let index = 0; index < Math.min(actual.length, expected.length); index += 1) {
    const found = difference(actual[index], expected[index], options);
    if (found !== undefined)
      fail(`${when}: record ${index} of ${expected.length} differs: ${found}`);
  }
  if (actual.length !== expected.length)
    fail(`${when}: ${actual.length} records instead of ${expected.length}`);
}

export function assertThat(condition: boolean, message: string): asserts condition {
  if (!condition) fail(message);
}

export function fail(message: string): never {
  throw new AssertionError({ message });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** With its type, so that `1` and `"1"` look different. */
export function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (isPlain(value))
    return JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'bigint' ? `${inner}n` : inner,
    );
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

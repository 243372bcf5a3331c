/**
 * Loaded before a process of the wires: its time passes faster, so that the timeouts of connectors
 * are seen as they are, and nobody waits for minutes.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const factor = Number(process.env['HEADGATE_TEST_TIME_FACTOR'] ?? '1');
const require = createRequire(import.meta.url);
const timers = require('node:timers') as typeof import('node:timers');
const promises = require('node:timers/promises') as typeof import('node:timers/promises');

const shorter = (ms: unknown): unknown => (typeof ms === 'number' ? Math.ceil(ms / factor) : ms);

/** The same function with a shorter time as its argument of this number. */
function hurried<F extends (...given: never[]) => unknown>(original: F, at: number): F {
  const faster = function (this: unknown, ...given: unknown[]): unknown {
    return Reflect.apply(
      original,
      this,
      given.map((one, index) => (index === at ? shorter(one) : one)),
    );
  };
  return Object.defineProperties(
    faster,
    Object.getOwnPropertyDescriptors(original),
  ) as unknown as F;
}

timers.setTimeout = globalThis.setTimeout = hurried(globalThis.setTimeout, 1);
timers.setInterval = globalThis.setInterval = hurried(globalThis.setInterval, 1);
promises.setTimeout = hurried(promises.setTimeout, 0);
promises.setInterval = hurried(promises.setInterval, 0);
AbortSignal.timeout = hurried(AbortSignal.timeout.bind(AbortSignal), 0);
// oxlint-disable-next-line typescript/unbound-method -- it is called with the socket as `this`
net.Socket.prototype.setTimeout = hurried(net.Socket.prototype.setTimeout, 0);

const startedAt = Date.now();
const [now, monotonic] = [Date.now.bind(Date), performance.now.bind(performance)];
const later = (): number => startedAt + (now() - startedAt) * factor;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [later()] : given) as [number]));
  }
  static override now(): number {
    return Math.floor(later());
  }
} as DateConstructor;
performance.now = () => monotonic() * factor;
syncBuiltinESMExports();

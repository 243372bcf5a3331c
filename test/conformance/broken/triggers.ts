/** A sound trigger that looks at a list in memory, and others that break one thing each. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { text } from '../../../src/kit/schema.ts';
import {
  defineTrigger,
  type Look,
  type LookRequest,
  type TriggerDefinition,
  type TriggerEvent,
} from '../../../src/kit/trigger.ts';
import { ConnectorError } from '../../../src/lib/errors.ts';
import type { JsonValue } from '../../../src/lib/text/json.ts';
import type { WatchedFixture } from '../trigger/subject.ts';

const SECRET = 'a-secret-address';
/** What has happened, by system: the times. */
const systems = new Map<string, number[]>();

export function soundFixture(): WatchedFixture {
  return {
    events: 'watching',
    fresh() {
      const name = randomUUID();
      systems.set(name, []);
      return Promise.resolve({
        fields: (address) => ({ system: name, address: address ?? 'here' }),
        happen: () => Promise.resolve(void systems.get(name)?.push(Date.now())),
        severalAtOnce: true,
        settle: () => Promise.resolve(),
        countsWhatWas: false,
        secret: SECRET,
      });
    },
  };
}

interface Faults {
  /** Instead of what it remembers. */
  readonly memoryAfter?: (taken: number, known: number, found: number) => JsonValue;
  readonly key?: (index: number) => string;
  readonly value?: TriggerEvent['value'];
  readonly isDeaf?: true;
  readonly away?: () => unknown;
  readonly known?: (request: LookRequest, times: readonly number[]) => number;
}

/** How many events are known: those before the first look, or before the system was away. */
function knownBefore({ memory, awaySince }: LookRequest, times: readonly number[]): number {
  if (typeof memory === 'number') return memory;
  if (awaySince === undefined) return times.length;
  return times.filter((time) => time < awaySince.getTime()).length;
}

function triggerWith(faults: Faults): TriggerDefinition {
  const config = z.strictObject({
    system: text().meta({ description: 'The list.' }),
    address: text().meta({ description: 'Where it is.' }),
  });
  return defineTrigger<z.output<typeof config>>({
    type: 'counting',
    description: 'A list that grows.',
    fields: () => config,
    examples: [{ system: 'a', address: 'here' }],
    tokens: () => [{ name: 'index', example: '1' }],
    starts: () => 'a list grows',
    secrets: () => [],
    events: {
      by: 'watching',
      intervalSecs: () => 1,
      open: (given, { name }) =>
        Promise.resolve({
          look: (request) => look(request, { ...given, name, faults }),
          close: () => Promise.resolve(),
        }),
    },
  });
}

async function look(
  request: LookRequest,
  at: {
    readonly system: string;
    readonly address: string;
    readonly name: string;
    readonly faults: Faults;
  },
): Promise<Look> {
  const { faults, name } = at;
  if (at.address !== 'here') await refuse(request.signal, faults);
  const times = systems.get(at.system) ?? [];
  const known = (faults.known ?? knownBefore)(request, times);
  const events = times.slice(known).map((_, index) => ({
    key: `trig:${name}:${faults.key?.(known + index) ?? known + index}`,
    labels: {},
    value: faults.value ?? (() => String(index)),
  }));
  return {
    events,
    memoryAfter: (taken) => faults.memoryAfter?.(taken, known, events.length) ?? known + taken,
  };
}

/** A silent system is waited for; the suite stops the look. */
async function refuse(signal: AbortSignal, { isDeaf, away }: Faults): Promise<never> {
  const waitMs = isDeaf === true ? 3000 : 500;
  await new Promise<void>((done) => {
    const timer = setTimeout(done, waitMs);
    const stop = (): void => {
      clearTimeout(timer);
      done();
    };
    if (isDeaf !== true) signal.addEventListener('abort', stop, { once: true });
  });
  throw away?.() ?? new ConnectorError('connection', 'the list is away');
}

export const soundTrigger = triggerWith({});

export const BROKEN_TRIGGERS: readonly {
  readonly what: string;
  readonly caughtBy: string;
  readonly definition: TriggerDefinition;
}[] = [
  {
    what: 'remembers what no JSON holds',
    caughtBy: 'quiet',
    definition: triggerWith({ memoryAfter: () => [undefined] as unknown as JsonValue }),
  },
  {
    what: 'has no value for its token',
    caughtBy: 'notices',
    definition: triggerWith({ value: () => undefined }),
  },
  {
    what: 'forgets what was taken',
    caughtBy: 'once',
    definition: triggerWith({ memoryAfter: (_taken, known) => known }),
  },
  {
    what: 'makes a new key at every look',
    caughtBy: 'again',
    definition: triggerWith({ key: () => randomUUID() }),
  },
  {
    what: 'remembers events that were not taken',
    caughtBy: 'again',
    definition: triggerWith({ memoryAfter: (_taken, known, found) => known + found }),
  },
  {
    what: 'forgets all where not all were taken',
    caughtBy: 'rest',
    definition: triggerWith({
      memoryAfter: (taken, known, found) => (taken === found ? known + taken : known),
    }),
  },
  {
    what: 'gives every event the same key',
    caughtBy: 'keys',
    definition: triggerWith({ key: () => 'same' }),
  },
  {
    what: 'counts what was there',
    caughtBy: 'before',
    definition: triggerWith({ known: ({ memory }) => (typeof memory === 'number' ? memory : 0) }),
  },
  {
    what: 'loses what happens while the system is away',
    caughtBy: 'meanwhile',
    definition: triggerWith({
      known: ({ memory }, times) => (typeof memory === 'number' ? memory : times.length),
    }),
  },
  {
    what: 'fails with an error of its client',
    caughtBy: 'away',
    definition: triggerWith({ away: () => new Error('ECONNREFUSED') }),
  },
  {
    what: 'says its secret',
    caughtBy: 'away',
    definition: triggerWith({
      away: () => new ConnectorError('connection', `${SECRET} does not answer`),
    }),
  },
  {
    what: 'does not hear that it is stopped',
    caughtBy: 'stops',
    definition: triggerWith({ isDeaf: true }),
  },
];

import type { TriggerDefinition } from '../kit/trigger.ts';
import { objectArrival } from './object-arrival.ts';
import { queueDepth } from './queue-depth.ts';
import { webhook } from './webhook.ts';

/** Every kind of trigger of this build, sorted by name. */
export const TRIGGERS: readonly TriggerDefinition[] = [objectArrival, queueDepth, webhook];

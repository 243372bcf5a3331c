import type { ChannelDefinition } from '../kit/channel.ts';
import { pagerduty } from './pagerduty.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

/** Every notification channel of this build, in the order in which schemas list them. */
export const CHANNELS: readonly ChannelDefinition[] = [slack, pagerduty, webhook];

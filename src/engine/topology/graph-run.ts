/** What the nodes of a running graph share. */
import type { Credentials, PartContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import type { TopologyPlan } from '../../plan/plan.ts';
import type { ExecuteOptions } from '../engine.ts';
import { partContext } from '../row/parts.ts';
import type { DeadRecord } from '../stages/stage.ts';
import type { OutputClaims } from '../row/output-claims.ts';
import type { Channel } from './channel.ts';
import type { NodeAccount } from './node-account.ts';
import type { Acknowledgements, Positions } from './positions.ts';

export interface GraphRun {
  readonly options: ExecuteOptions;
  readonly topology: TopologyPlan;
  readonly credentials: Credentials;
  readonly tokens: RuntimeTokens;
  readonly positions: Positions;
  readonly acknowledgements: Acknowledgements;
  readonly claims: OutputClaims;
  /** Open until every sink has ended. */
  readonly closers: AsyncDisposableStack;
  readonly stop: AbortSignal;
  readonly kill: AbortSignal;
}

/** Takes what a node puts aside; durable when it resolves. */
export interface NodeDeadLetters {
  put(dead: readonly DeadRecord[]): Promise<void>;
}

/** One node while it works. */
export interface NodeWork {
  readonly run: GraphRun;
  readonly account: NodeAccount;
  readonly inputs: readonly Channel[];
  readonly outputs: readonly Channel[];
  /** Present when the document has a dead-letter queue. */
  readonly queue: NodeDeadLetters | undefined;
  readonly labels: { readonly pipeline: string; readonly row: string };
}

/** An empty page is passed on only for its bookmark. */
export function isEmpty(page: Page): boolean {
  return page.count === 0 && page.bookmark === undefined;
}

/**
 * Sends a page to every output whose consumer has not left, and waits for the slowest. False when
 * all have left.
 */
export async function handOn({ outputs }: Pick<NodeWork, 'outputs'>, page: Page): Promise<boolean> {
  const [only] = outputs;
  if (outputs.length === 1 && only !== undefined) return only.send(page);
  const wanted = await Promise.all(outputs.map((output) => output.send(page)));
  return wanted.includes(true);
}

export function nodeContext({ options, credentials, kill }: GraphRun, id: string): PartContext {
  const { env, plan } = options;
  return partContext({ env, plan, row: { id }, invocationId: env.ids.next(), kill, credentials });
}

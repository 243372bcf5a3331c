import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import type { AwsLink, CallOptions } from './link.ts';

interface Client {
  destroy(): void;
}

interface Probing<C extends Client> {
  readonly link: AwsLink<C>;
  readonly context: Pick<PartContext, 'signal'>;
}

/** Asks once, and closes the link. `field` names the place in the config. */
export async function probed<C extends Client>(
  name: string,
  field: string,
  { link, context }: Probing<C>,
  send: (client: C, options: CallOptions) => Promise<unknown>,
): Promise<ProbeFinding[]> {
  try {
    await link.ask('it cannot be asked', send);
    return [{ name, status: 'pass' }];
  } catch (error) {
    context.signal.throwIfAborted();
    const hint = error instanceof AppError ? error.hint : undefined;
    const advice = hint ?? `check \`${field}\`, \`region\` and \`credentials\``;
    return [{ name, status: 'fail', reason: messageOf(error), hint: advice }];
  } finally {
    await link.close();
  }
}

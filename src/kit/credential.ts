import type { ZodType } from 'zod';
import type { JsonObject } from '../lib/text/json.ts';
import type { CredentialContext, CredentialProvider } from './context.ts';

// See SourceDefinition for why the type is erased.
// oxlint-disable-next-line typescript/no-explicit-any
export interface CredentialDefinition<C = any> {
  readonly role: 'credential';
  readonly type: string;
  readonly description: string;
  readonly config: ZodType<C>;
  readonly examples: readonly JsonObject[];
  /** Whether `${name}` in its config stands for a value that it captures itself. */
  readonly namesValues?: true;
  /** Builds the provider; no request is made before the first `get`. */
  open(config: C, context: CredentialContext): CredentialProvider;
}

export function defineCredential<C>(
  definition: Omit<CredentialDefinition<C>, 'role'>,
): CredentialDefinition<C> {
  return Object.freeze({ role: 'credential' as const, ...definition });
}

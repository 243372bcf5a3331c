import { ConnectorError } from '../../src/lib/errors.ts';

/**
 * How some work fails, as plain data; work that succeeds, or fails with anything but a connector
 * error, fails the test.
 */
export async function failureOf(
  work: Promise<unknown>,
): Promise<Pick<ConnectorError, 'kind' | 'message'>> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ConnectorError) return { kind: error.kind, message: error.message };
  throw new Error(`expected a connector error, got ${String(error)}`, { cause: error });
}

/** Before its leases end for others, a server stops by itself: part of the lease. */
const STOPS_BEFORE = 0.15;

/**
 * For how long after the beginning of a request that took or renewed a lease the server that asked
 * goes on with the run. The lease itself begins later, when the database has the request.
 */
export function trustedMs(leaseMs: number): number {
  return leaseMs * (1 - STOPS_BEFORE);
}

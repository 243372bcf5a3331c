/**
 * Global transaction ids. MariaDB: `domain-server-sequence`, one for each domain, of the last
 * transaction. MySQL: `uuid:1-5:7`, ranges of transactions of each server.
 */

export type Gtid =
  | { readonly kind: 'mariadb'; readonly domain: number; readonly sequence: bigint }
  | { readonly kind: 'mysql'; readonly server: string; readonly number: bigint };

export function mariadbGtid(body: Buffer): Gtid {
  return { kind: 'mariadb', sequence: body.readBigUInt64LE(0), domain: body.readUInt32LE(8) };
}

export function mysqlGtid(body: Buffer): Gtid {
  return { kind: 'mysql', server: body.toString('hex', 1, 17), number: body.readBigInt64LE(17) };
}

/** From the first to the last, both included. */
type Range = readonly [first: bigint, last: bigint];

export type GtidSet =
  | { readonly kind: 'mariadb'; readonly text: string; readonly last: ReadonlyMap<number, bigint> }
  | { readonly kind: 'mysql'; readonly ranges: ReadonlyMap<string, readonly Range[]> };

const MARIADB = /^(\d{1,10})-(\d{1,10})-(\d{1,20})$/;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const RANGE = /^(\d{1,19})(?:-(\d{1,19}))?$/;

/** `undefined` when the text is no such set. */
export function parseGtidSet(text: string): GtidSet | undefined {
  const parts = text.split(',').map((part) => part.trim());
  return MARIADB.test(parts[0] ?? '') ? mariadbSet(parts) : mysqlSet(parts);
}

function mariadbSet(parts: readonly string[]): GtidSet | undefined {
  const last = new Map<number, bigint>();
  for (const part of parts) {
    const [, domain, , sequence] = MARIADB.exec(part) ?? [];
    if (domain === undefined || sequence === undefined || last.has(Number(domain)))
      return undefined;
    last.set(Number(domain), BigInt(sequence));
  }
  return { kind: 'mariadb', text: parts.join(','), last };
}

function mysqlSet(parts: readonly string[]): GtidSet | undefined {
  const ranges = new Map<string, Range[]>();
  for (const part of parts) {
    const [server = '', ...intervals] = part.split(':').map((one) => one.trim());
    if (!UUID.test(server) || intervals.length === 0) return undefined;
    const name = server.replaceAll('-', '').toLowerCase();
    const known = ranges.get(name) ?? [];
    for (const interval of intervals) {
      const [, first, last = first] = RANGE.exec(interval) ?? [];
      if (first === undefined || last === undefined) return undefined;
      if (BigInt(first) < 1n || BigInt(last) < BigInt(first)) return undefined;
      known.push([BigInt(first), BigInt(last)]);
    }
    ranges.set(name, known);
  }
  return { kind: 'mysql', ranges: mapRanges(ranges) };
}

/** In order, and without overlaps, as the server wants them. */
function mapRanges(ranges: ReadonlyMap<string, readonly Range[]>): Map<string, Range[]> {
  return new Map(
    [...ranges]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, all]) => [name, joined(all)]),
  );
}

function joined(ranges: readonly Range[]): Range[] {
  const found: Range[] = [];
  for (const [first, last] of ranges.toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const before = found.at(-1);
    if (before === undefined || first > before[1] + 1n) found.push([first, last]);
    else found[found.length - 1] = [before[0], last > before[1] ? last : before[1]];
  }
  return found;
}

export function holds(set: GtidSet, gtid: Gtid): boolean {
  if (set.kind === 'mariadb' && gtid.kind === 'mariadb')
    return gtid.sequence <= (set.last.get(gtid.domain) ?? -1n);
  if (set.kind === 'mysql' && gtid.kind === 'mysql')
    return (set.ranges.get(gtid.server) ?? []).some(
      ([first, last]) => first <= gtid.number && gtid.number <= last,
    );
  return false;
}

/** As MySQL takes it with the command that asks for the log. */
export function encodeMysqlSet(ranges: ReadonlyMap<string, readonly Range[]>): Buffer {
  const parts: Buffer[] = [uint64(BigInt(ranges.size))];
  for (const [server, all] of ranges) {
    parts.push(Buffer.from(server, 'hex'), uint64(BigInt(all.length)));
    // The end of a range is the number behind it.
    for (const [first, last] of all) parts.push(uint64(first), uint64(last + 1n));
  }
  return Buffer.concat(parts);
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

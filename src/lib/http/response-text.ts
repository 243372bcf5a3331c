/** The body of a response as text; `undefined` as soon as it is longer than the limit. */
export async function readLimited(
  response: Response,
  limitBytes: number,
): Promise<string | undefined> {
  return (await readLimitedBytes(response, limitBytes))?.toString('utf8');
}

/** The same as bytes. */
export async function readLimitedBytes(
  response: Response,
  limitBytes: number,
): Promise<Buffer | undefined> {
  if (Number(response.headers.get('content-length') ?? 0) > limitBytes) {
    await response.body?.cancel();
    return undefined;
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > limitBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The first bytes of a body; the rest is not read. */
export async function readStart(response: Response, wantedBytes: number): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    parts.push(part);
    length += part.length;
    if (length >= wantedBytes) break;
  }
  return Buffer.concat(parts, length);
}

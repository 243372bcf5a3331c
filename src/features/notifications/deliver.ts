/** Brings one request to its receiver: two attempts, each with an end. */
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { splitLogin } from '../../lib/http/outgoing-request.ts';
import { readStart } from '../../lib/http/response-text.ts';
import { shortened } from '../../channels/message.ts';
import type { ChannelMessage } from '../../kit/channel.ts';

const ATTEMPTS = 2;
const WAIT_MS = 250;
const TIMEOUT_MS = 10_000;
const ANSWER_CHARS = 200;
/** More than is shown, so that a secret at its end is whole when it is hidden. */
const ANSWER_BYTES = 4096;

/** Takes secrets out of a text. */
type Hide = (text: string) => string;

/** Why it did not arrive, without any secret; undefined when it did. Never rejects. */
export async function deliver(
  message: ChannelMessage,
  { clock, fetch }: Pick<Env, 'clock' | 'fetch'>,
  hide: Hide,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const fault = await post(message, fetch, hide);
    if (fault === undefined || attempt === ATTEMPTS) return fault;
    await clock.sleep(WAIT_MS);
  }
}

async function post(
  { url: address, method, headers, body }: ChannelMessage,
  fetch: Env['fetch'],
  hide: Hide,
): Promise<string | undefined> {
  try {
    const { url, authorization } = splitLogin(address);
    const sent = new Headers(authorization === undefined ? {} : { authorization });
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    // After a redirect the request would arrive without its body.
    const response = await fetch(url, {
      method,
      headers: sent,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok)
      return `the receiver answered ${response.status}${await saidBy(response, hide)}`;
    // The rest of the answer is not read; a long answer is not a failure.
    await response.body?.cancel().catch(() => {});
    return undefined;
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return `the receiver did not answer within ${TIMEOUT_MS / 1000} s`;
    const cause =
      error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
    return hide(`${messageOf(error)}${cause}`);
  }
}

/** The start of an answer, on one line. */
async function saidBy(response: Response, hide: Hide): Promise<string> {
  const bytes = await readStart(response, ANSWER_BYTES);
  const text = hide(Buffer.from(bytes).toString('utf8')).replaceAll(/\s+/g, ' ').trim();
  return text === '' ? '' : `: ${shortened(text, ANSWER_CHARS)}`;
}

/** Answers to searches, of which parts may be missing though their status is 200. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

/** Asks the server to fail in place of leaving something out; not all that it leaves out counts. */
export const NOTHING_LESS = ['allow_partial_search_results', 'false'] as const;

/** Parts of the index that did not answer would be missing. */
export function complete(answer: JsonObject): JsonObject {
  const why = missingIn(answer);
  if (why === undefined) return answer;
  throw new ConnectorError('http_5xx', `the search ${why}, so documents would be missing`, {
    hint: 'look at the health of the cluster',
  });
}

function missingIn({
  timed_out: isLate = false,
  _shards: shards = null,
  _clusters: clusters = null,
}: JsonObject): string | undefined {
  const failed = isObject(shards) ? unanswered(shards) : 0;
  if (failed > 0) return `failed on ${failed} of its shards: ${reasonOf(shards)}`;
  const left = isObject(clusters) ? unanswered(clusters) : 0;
  if (left > 0) return `left out ${left} of its clusters, or parts of them`;
  return isLate === true ? 'took too long' : undefined;
}

/** A shard that is on no node has not failed everywhere, and has not succeeded. */
function unanswered({ total, successful, failed = 0 }: JsonObject): number {
  const without = Number(total ?? 0) - Number(successful ?? total ?? 0);
  return Math.max(without, Number(failed));
}

function reasonOf(shards: JsonValue): string {
  const failures = isObject(shards) && Array.isArray(shards['failures']) ? shards['failures'] : [];
  const [first = null] = failures;
  const reason = isObject(first) ? (first['reason'] ?? null) : null;
  return jsonText(isObject(reason) ? (reason['reason'] ?? reason) : (reason ?? 'no reason given'));
}

export function hitsOf(answer: JsonObject): readonly JsonObject[] {
  const outer = answer['hits'] ?? null;
  const hits = isObject(outer) ? outer['hits'] : undefined;
  if (Array.isArray(hits)) return hits.filter(isObject);
  throw new ConnectorError('data', 'the answer of the server is none to a search', {
    hint: 'check `base_url`',
  });
}

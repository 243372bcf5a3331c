/** Results that are a single answer: files, decoded reports, the result of a job. */
import { RECORDS_LANE } from '../../../kit/page.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { csvPages } from '../../_files/csv/csv-pages.ts';
import { jsonLines } from '../../_files/json/json-lines-file.ts';
import { jsonBody, OTHER_FORMAT } from '../../_http/body.ts';
import type { HttpRequest, HttpStream } from '../../_http/client.ts';
import { decodeAnswer } from '../../_http/decode.ts';
import { sheetChoice, sheetRecords } from '../../_files/excel/sheet-records.ts';
import type { RestSetup } from '../request/setup.ts';
import { tolerating } from './tolerate.ts';

/** Records of one answer, or of a part of it. */
export interface Chunk {
  readonly records: readonly JsonValue[];
  /** Encoded size, where it is known. */
  readonly bytes?: number | undefined;
  /** Where a later run can continue, with `persist_cursor`. */
  readonly cursor?: JsonValue | undefined;
}

const QUOTE = 34;
const RECORDS_A_CHUNK = 1000;

export async function* readSingleAnswer(
  setup: RestSetup,
  request: HttpRequest,
): AsyncGenerator<Chunk> {
  const { config, client } = setup;
  const streams =
    config.decode === undefined &&
    (config.response_format === 'csv' || config.response_format === 'jsonl');
  if (streams) {
    const answer = await tolerating(setup, () => client.stream(request));
    if (answer !== undefined) yield* readStream(setup, answer);
    return;
  }
  const isJson = config.decode === undefined && config.response_format === 'json';
  const found = await tolerating(setup, () =>
    client.read(request, ({ bytes, shownUrl }) => {
      const name = `the answer of ${request.method} ${shownUrl}`;
      const isRead = isJson && bytes.length > 0;
      return { bytes, name, body: isRead ? jsonBody(bytes, name, OTHER_FORMAT) : null };
    }),
  );
  if (found === undefined || found.bytes.length === 0) return;
  const { bytes, name, body } = found;
  if (config.decode !== undefined) {
    for await (const records of decodeAnswer(bytes, config.decode, {
      name,
      pageBytes: setup.context.pageBytes,
      signal: setup.context.signal,
    }))
      yield { records };
  } else if (config.response_format === 'excel') {
    yield {
      records: sheetRecords(bytes, {
        sheet: sheetChoice(config.excel_sheet),
        headerRow: config.excel_header_row,
        name,
      }),
    };
  } else {
    yield { records: setup.extract(body), bytes: bytes.length };
  }
}

async function* readStream(
  { config, context }: RestSetup,
  answer: HttpStream,
): AsyncGenerator<Chunk> {
  const name = `the answer of ${answer.shownUrl}`;
  if (config.response_format === 'jsonl') {
    for await (const batch of jsonLines(answer.blocks, { name })) {
      yield { records: Array.from(batch, ({ value }) => value) };
    }
    return;
  }
  const shape = {
    dialect: { delimiter: config.csv_delimiter, quote: QUOTE },
    hasHeaders: config.csv_has_headers,
    flexible: false,
    nullValues: config.csv_null_values,
  };
  const bounds = { records: RECORDS_A_CHUNK, bytes: context.pageBytes };
  for await (const page of csvPages(answer.blocks, {
    shape,
    lane: RECORDS_LANE,
    bounds,
    name,
    signal: context.signal,
  })) {
    yield { records: page.records(), bytes: page.bytes };
  }
}

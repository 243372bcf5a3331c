/** A move out of an object of a bucket, beside the same move between local files. */
import { createReadStream, statSync } from 'node:fs';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { join } from 'node:path';
import { makeBucket, minio, s3Client, S3_VARIABLES } from '../../test/servers/object-stores.ts';
import { startOf, type TestServer } from '../../test/servers/test-servers.ts';
import { PERSON_FIELDS, peopleFile } from '../data.ts';
import { expectedDigest } from '../digest.ts';
import { headgateRun, pipelineDocument, program, type Bench, type Move } from '../move.ts';
import { fileDocument, linesSide, personTexts } from './files.ts';

const BUCKET = 'bench';
let store: Promise<TestServer> | undefined;

async function storeOf(bench: Bench): Promise<string> {
  store ??= startOf(minio).then(async (server) => {
    bench.atEnd(() => server.stop());
    await makeBucket(server.url, BUCKET);
    return server;
  });
  return (await store).url;
}

/** How its documents find the store. */
export const STORE_VARIABLES = { ...S3_VARIABLES, AWS_REGION: 'us-east-1' };

/** A source that reads an object with so many rows of CSV. */
export async function objectOfPeople(bench: Bench, rows: number): Promise<string> {
  const url = await storeOf(bench);
  const path = peopleFile(bench.folder, rows);
  const key = keyOf(rows);
  const content = { Body: createReadStream(path), ContentLength: statSync(path).size };
  await s3Client(url).send(new PutObjectCommand({ Bucket: BUCKET, Key: key, ...content }));
  return `{ type: s3, config: { bucket: ${BUCKET}, prefix: ${key}, file_format: csv, endpoint_url: '${url}', region: us-east-1 } }`;
}

function keyOf(rows: number): string {
  return `people-${rows}.csv`;
}

const toJsonl: Move = {
  kind: 'processes',
  name: 's3-jsonl',
  title: 'Object of S3 (MinIO), CSV → JSON Lines, 7 columns',
  async contest(bench) {
    const source = await objectOfPeople(bench, bench.rows);
    const expected = expectedDigest(bench.rows, personTexts);
    const [ours, local] = ['object', 'local'].map((name) =>
      join(bench.folder, `s3-jsonl-${name}.jsonl`),
    ) as [string, string];
    const sinkTo = (path: string): string => `{ type: jsonl, config: { path: ${path} } }`;
    const document = pipelineDocument('s3-jsonl', { source, sink: sinkTo(ours) });
    const input = peopleFile(bench.folder, bench.rows);
    return {
      rows: bench.rows,
      subject: linesSide('headgate', ours, PERSON_FIELDS, expected, {
        ...headgateRun(bench.folder, 's3-jsonl', document),
        env: STORE_VARIABLES,
      }),
      others: [
        {
          ...linesSide(
            'headgate between local files',
            local,
            PERSON_FIELDS,
            expected,
            headgateRun(
              bench.folder,
              's3-jsonl-local',
              fileDocument('s3-jsonl-local', input, sinkTo(local)),
            ),
          ),
          role: 'baseline',
          target: 0.7,
        },
        {
          name: 'the object read and thrown away',
          command: {
            ...program('s3-discard', await storeOf(bench), BUCKET, keyOf(bench.rows)),
            env: STORE_VARIABLES,
          },
          verify: async () => {},
          verified: 'nothing',
          role: 'floor',
        },
      ],
    };
  },
};

export const objectMoves: readonly Move[] = [toJsonl];

/** `node s3-discard.ts URL BUCKET KEY`: reads an object with the client of the vendor, and nothing else. */
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';

const [endpoint = '', Bucket = '', Key = ''] = process.argv.slice(2);
const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
let bytes = 0;
for await (const block of Body as AsyncIterable<Uint8Array>) bytes += block.length;
if (bytes === 0) throw new Error(`${Key} is empty`);

import { expect, test } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { signedFetch, type Signing } from './signed-fetch.ts';

const HOST = 'https://glue.eu-north-1.amazonaws.com';
const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

async function sent(
  url: string,
  init: RequestInit = {},
  more: Partial<Signing> = {},
): Promise<Headers> {
  const signing = { service: 'glue', region: 'eu-north-1', keys: KEYS, origin: HOST, ...more };
  let headers = new Headers();
  const send = signedFetch(signing, stillClock('2026-01-31T12:00:00.000Z'), (_url, given) => {
    headers = new Headers(given?.headers);
    return Promise.resolve(new Response());
  });
  await send(url, init);
  return headers;
}

const signature = (headers: Headers): string | undefined =>
  headers.get('authorization')?.split('Signature=')[1];

// Both signatures were made by botocore 1.44 for the same requests at the same time.
test('signs as the clients of Amazon do', async () => {
  const asked = await sent(`${HOST}/iceberg/v1/config?warehouse=123456789012`);
  expect(asked.get('x-amz-date')).toBe('20260131T120000Z');
  expect(signature(asked)).toBe('56ecbf6abf2190c9224fe27e849e6ad8c2ee022758fa2e04a51f895bb1777d2d');
  const made = await sent(
    `${HOST}/iceberg/v1/catalogs/123456789012/namespaces/a%1Fb/tables`,
    { method: 'POST', body: '{"name":"t"}', headers: { 'content-type': 'application/json' } },
    { keys: { ...KEYS, sessionToken: 'SESSION' } },
  );
  expect(made.get('x-amz-security-token')).toBe('SESSION');
  expect(signature(made)).toBe('6a99a999145a1c40df3739b825d504b5163dc9d0d388471d91c0f31015056445');
});

test('tells nobody else whose request it is', async () => {
  const headers = await sent('https://elsewhere.example.com/v1/config', {
    headers: { accept: 'application/json' },
  });
  expect([...headers]).toEqual([['accept', 'application/json']]);
});

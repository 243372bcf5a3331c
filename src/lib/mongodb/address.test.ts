import { expect, test } from 'vitest';
import { mongoPlace, mongoUri, parseMongoAddress } from './address.ts';

test.each([
  ['mongodb://me:s3cret@DB.example/admin?w=1', 'mongodb://db.example:27017/d/c'],
  [
    'mongodb://a.example,b.example:27018/?replicaSet=rs0',
    'mongodb://a.example:27017,b.example:27018/d/c',
  ],
  ['mongodb+srv://me:p%40ss@cluster.example/', 'mongodb+srv://cluster.example/d/c'],
  ['mongodb://[::1]:27017', 'mongodb://[::1]:27017/d/c'],
])('%s is told without login and options', (uri, told) => {
  expect(mongoUri(uri, 'd', 'c')).toBe(told);
});

test('the same members in another order are the same place', () => {
  expect(mongoPlace('mongodb://b,a', 'd')).toBe(mongoPlace('mongodb://x:y@a:27017,b', 'd'));
});

test('secrets are found as they are written and as they are meant', () => {
  const uri =
    'mongodb://me:p%40ss@h/?authMechanismProperties=AWS_SESSION_TOKEN:t0ken,X:1&tlsCertificateKeyFilePassword=k3y';
  expect(parseMongoAddress(uri)?.secrets).toEqual(['p%40ss', 'p@ss', 't0ken', 'k3y']);
});

test.each(['postgres://h/db', 'mongodb://', 'h:27017', 'mongodb:/h'])(
  '%s is no address',
  (text) => {
    expect(parseMongoAddress(text)).toBeUndefined();
    expect(mongoUri(text)).toBe('unknown://unknown');
  },
);

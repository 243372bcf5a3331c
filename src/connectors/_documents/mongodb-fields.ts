/** Fields by which connectors name a place in MongoDB. */
import { finding, text } from '../../kit/schema.ts';
import { parseMongoAddress } from '../../lib/mongodb/address.ts';

export function mongodbUri() {
  return text()
    .superRefine((uri, ctx) => {
      if (parseMongoAddress(uri) !== undefined) return;
      const message =
        'this is not an address of MongoDB; write `mongodb://user:password@host:port`, with special letters percent-encoded';
      ctx.addIssue(finding('invalid_value', message));
    })
    .meta({
      description:
        'Address of the server or of all members of a replica set: `mongodb://user:password@host:port,host:port/?option=value`, or `mongodb+srv://…`. Documents from elsewhere may call it `connection_url`.',
      examples: ['${env:MONGODB_URI}', 'mongodb://reader:secret@db.example:27017'],
      secret: true,
    });
}

export function databaseName() {
  return text()
    .regex(/^[^/\\. "$*<>:|?\0]{1,63}$/, 'is no name of a database')
    .meta({ description: 'Name of the database.' });
}

export function collectionName() {
  return text()
    .regex(/^[^$\0]+$/, 'is no name of a collection')
    .meta({ description: 'Name of the collection.', examples: ['orders'] });
}

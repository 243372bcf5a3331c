import { z } from 'zod';
import { kafkaBrokers } from '../../kit/kafka-brokers.ts';
import { boolean, finding, integer, optional, text, nullAsAbsent } from '../../kit/schema.ts';

const kind = <T extends string>(name: T, description: string) =>
  z.literal(name).meta({ description });
const flag = (fallback: boolean, description: string) =>
  nullAsAbsent(boolean().default(fallback)).meta({ description });

const address = () =>
  text().superRefine((url, ctx) => {
    const scheme = URL.parse(url)?.protocol;
    if (scheme === 'http:' || scheme === 'https:') return;
    ctx.addIssue(
      finding('invalid_value', 'must be an http or https address', {
        hint: 'for example http://collector:5000/api/v1/lineage',
      }),
    );
  });

const uuid = () =>
  text().superRefine((value, ctx) => {
    if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return;
    ctx.addIssue(
      finding('invalid_value', 'must be a UUID', {
        hint: 'lineage events identify runs by UUIDs',
      }),
    );
  });

const bearer = z.lazy(() =>
  z.strictObject({
    type: kind('bearer', 'Sends the token in an `Authorization` header.'),
    config: z
      .strictObject({
        token: text().meta({
          description: 'The token.',
          examples: ['${env:LINEAGE_TOKEN}'],
          secret: true,
        }),
      })
      .meta({ description: 'The token.' }),
  }),
);

const httpConfig = z.lazy(() =>
  z.strictObject({
    url: address().meta({
      description: 'Where every event is sent by POST.',
      examples: ['http://collector:5000/api/v1/lineage'],
    }),
    timeout_secs: nullAsAbsent(integer({ min: 1, max: 3600 }).default(10)).meta({
      description: 'How long an answer may take.',
    }),
    auth: optional(bearer).meta({ description: 'How the collector lets events in.' }),
  }),
);

const fileConfig = z.lazy(() =>
  z.strictObject({
    path: text().meta({
      description:
        'File that gets a line of JSON for every event; made with its folder when missing.',
    }),
  }),
);

const brokerConfig = z.lazy(() =>
  z.strictObject({
    brokers: kafkaBrokers(),
    topic: text().meta({
      description: 'Topic that gets a message for every event; its key is the run of the event.',
    }),
  }),
);

const transport = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: kind('http', 'Sends events to a collector.'),
      config: httpConfig.meta({ description: 'The collector.' }),
    }),
    z.strictObject({
      type: kind('file', 'Appends events to a file.'),
      config: fileConfig.meta({ description: 'The file.' }),
    }),
    z.strictObject({
      type: z
        .literal(['kafka', 'broker'])
        .meta({ description: 'Sends events to a topic of Kafka.' }),
      config: brokerConfig.meta({ description: 'The topic.' }),
    }),
  ]),
);

const parentJob = z.lazy(() =>
  z.strictObject({
    namespace: text().meta({ description: 'Namespace of the parent job.' }),
    name: text().meta({ description: 'Name of the parent job.' }),
    run_id: optional(uuid()).meta({
      description: 'Run of the parent job, a UUID; the run of the document when absent.',
    }),
  }),
);

const emitOn = z.lazy(() =>
  z.strictObject({
    start: flag(true, 'When a row starts.'),
    running: flag(false, 'Now and then while it runs.'),
    complete: flag(true, 'When it has succeeded.'),
    fail: flag(true, 'When it has failed.'),
    abort: flag(true, 'When it was cancelled.'),
  }),
);

export const lineageSchema = z.lazy(() =>
  z.strictObject({
    type: nullAsAbsent(z.literal('openlineage').default('openlineage')).meta({
      description: 'Kind of the events.',
    }),
    namespace: text().meta({ description: 'Namespace of jobs and data sets.' }),
    transport: transport.meta({ description: 'Where events go.' }),
    job_name: optional(text()).meta({
      description:
        'Name of the job of a row: `${name}`, `${row_id}` and `${now.*}` are filled in. When absent `${name}::${row_id}`, and `${name}.${row_id}` for the sink nodes of a graph.',
    }),
    parent_job: optional(parentJob).meta({ description: 'The job that started this one.' }),
    include_schema_facet: flag(
      false,
      'Whether the last event of a row contains the columns of its data sets.',
    ),
    include_column_lineage: flag(
      false,
      'Whether the last event of a row contains the input columns of each output column.',
    ),
    include_source_code_facet: flag(
      false,
      'Whether events hold the document, with its secrets masked.',
    ),
    emit_on: nullAsAbsent(emitOn.prefault({})).meta({ description: 'Which events are sent.' }),
    sample_records: nullAsAbsent(integer({ min: 0, max: 10_000 }).default(100)).meta({
      description: 'Records of each invocation that are looked at for the columns; 0 for none.',
    }),
    heartbeat_interval: nullAsAbsent(integer({ min: 1, max: 86_400 }).default(30)).meta({
      description:
        'Seconds between two events of a running row, where `emit_on.running` asks for them.',
    }),
  }),
);
export type LineageSpec = z.infer<typeof lineageSchema>;
export type LineageTransport = LineageSpec['transport'];
export type LineageEventKind = keyof LineageSpec['emit_on'];

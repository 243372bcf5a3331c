import { z } from 'zod';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

export const clusterMemberSchema = z.object({
  instance_id: z.string(),
  listen: z.string().nullable().meta({ description: 'The address that it was started with.' }),
  host: z.string().meta({ description: 'Name of its machine.' }),
  pid: z.int(),
  started_at: time,
  seen_at: time.meta({ format: 'date-time', description: 'Its last heartbeat, RFC 3339, UTC.' }),
  max_concurrent: z.int().meta({ description: 'Runs that it executes at the same time, at most.' }),
  in_flight: z.int().meta({ description: 'Runs that it executed when it was seen.' }),
  status: z
    .enum(['alive', 'lost'])
    .meta({ description: '`lost`: its lease has ended, others take its runs over.' }),
  is_self: z.boolean().meta({ description: 'It is the server that answers.' }),
});
export type ClusterMember = z.infer<typeof clusterMemberSchema>;

export const clusterStatusSchema = z.object({
  enabled: z.boolean(),
  instances: z.int().meta({ description: 'Those that live.' }),
  members: z
    .array(clusterMemberSchema)
    .meta({ description: 'By start; none when the server works alone.' }),
});
export type ClusterStatus = z.infer<typeof clusterStatusSchema>;

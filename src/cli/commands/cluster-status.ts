import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { REMOTE_OPTIONS, withServer } from '../remote/connect.ts';
import { table } from '../render/render.ts';

export const clusterStatusCommand = defineCommand({
  name: 'cluster status',
  summary: 'Show the servers that share a queue.',
  description:
    'Any server of the cluster answers for all of them. A server is `lost` when its lease has ended: others take its runs over.',
  options: REMOTE_OPTIONS,
  examples: [{ command: 'headgate cluster status', description: 'Who lives, and how busy it is' }],
  async run(context, { options }) {
    const { terminal } = context;
    return withServer(context, options, async ({ routes }) => {
      const { data } = await routes.GET('/v1/cluster');
      if (data === undefined) return EXIT.failed;
      if (options.json) terminal.json(data);
      else if (!data.enabled)
        terminal.note('the server works alone: it was started without --cluster');
      else {
        const cells = data.members.map((member) => [
          member.instance_id,
          member.status,
          member.listen ?? '-',
          `${member.host} ${member.pid}`,
          `${member.in_flight}/${member.max_concurrent}`,
          member.started_at,
          member.seen_at,
          member.is_self ? 'answers' : '',
        ]);
        const heads = ['instance', 'status', 'listen', 'process', 'runs', 'started', 'seen', ''];
        for (const line of table(heads, cells, [4])) terminal.print(line);
      }
      return EXIT.ok;
    });
  },
});

import { linkTo } from '../lib/address.ts';
import { may } from '../lib/session.ts';
import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty, Time } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { T } from '../texts.ts';

const MOST = 200;

export function Audit() {
  return may('audit_read') ? (
    <Entries />
  ) : (
    <Empty title={T.operate.auditRole}>{T.operate.auditRoleHint}</Empty>
  );
}

function Entries() {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/audit', { params: { query: { limit: MOST } }, signal })),
  );
  const { operate: words } = T;
  return (
    <AskedView of={asked}>
      {({ entries }) =>
        entries.length === 0 ? (
          <Empty title={words.noAudit} />
        ) : (
          <Table
            label={words.tabs.audit}
            rows={entries}
            keyOf={({ id }) => id}
            columns={[
              { name: words.when, cell: ({ timestamp }) => <Time at={timestamp} /> },
              { name: words.who, cell: ({ principal, role }) => `${principal} (${role})` },
              { name: words.action, cell: ({ action }) => <code>{action}</code> },
              { name: words.result, cell: ({ result }) => result },
              {
                name: T.runs.columns.run,
                cell: ({ run_id: id }) =>
                  id === undefined ? null : <a href={linkTo(['runs', id])}>{id}</a>,
              },
            ]}
          />
        )
      }
    </AskedView>
  );
}

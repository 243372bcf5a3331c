/** Names of tables in a config. */
export interface TablePlace {
  readonly project: string;
  readonly dataset: string;
  readonly table: string;
}

/** `dataset.table`, or with a project in front of them, whose name may have dots and a colon. */
export const TABLE_NAME = /^(?:([\w.:-]+)[.:])?(\w+)\.([^.`]+)$/;

export function placeIn(name: string, ownProject: string): TablePlace {
  const [, project = ownProject, dataset = '', table = ''] = TABLE_NAME.exec(name) ?? [];
  return { project, dataset, table };
}

/** Names of topics and subscriptions: `orders`, or `projects/my-project/topics/orders`. */

const SHORT = /^[A-Za-z][\w.~%+-]{2,254}$/;
const PATH = /^projects\/([^/]+)\/(topic|subscription)s\/([^/]+)$/;

/** A token of a run may still stand in it. */
export function isName(text: string, kind: 'topic' | 'subscription'): boolean {
  if (text.includes('${')) return true;
  const [, project, of, name = ''] = PATH.exec(text) ?? [];
  return project === undefined ? SHORT.test(text) : of === kind && SHORT.test(name);
}

export function projectIn(text: string): string | undefined {
  return PATH.exec(text)?.[1];
}

export function pathOf(text: string, kind: 'topic' | 'subscription', project: string): string {
  return projectIn(text) === undefined ? `projects/${project}/${kind}s/${text}` : text;
}

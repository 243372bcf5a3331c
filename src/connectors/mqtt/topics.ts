const MOST_BYTES = 65_535;

const isText = (topic: string): boolean =>
  topic !== '' && !topic.includes('\0') && Buffer.byteLength(topic) <= MOST_BYTES;

/** Whether messages can be published to it: no wildcards. */
export function isTopic(topic: string): boolean {
  return isText(topic) && !/[+#]/.test(topic);
}

/** Whether it can be subscribed to: `+` is one level, `#` the rest; `$share/group/…` is shared. */
export function isTopicFilter(filter: string): boolean {
  if (!isText(filter)) return false;
  const shared = /^\$share\/([^/]*)\/(.*)$/s.exec(filter);
  if (shared === null && filter.startsWith('$share/')) return false;
  if (shared !== null && (shared[1] === '' || /[+#]/.test(shared[1] ?? ''))) return false;
  const levels = (shared === null ? filter : (shared[2] ?? '')).split('/');
  if (shared !== null && shared[2] === '') return false;
  return levels.every(
    (level, index) =>
      level === '+' || (level === '#' && index === levels.length - 1) || !/[+#]/.test(level),
  );
}

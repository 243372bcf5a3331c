/** Subjects: parts between dots; `*` stands for one part, `>` at the end for one or more. */

const PART = /^[^\s.*>]+$/;

/** Whether it can be published to. */
export function isSubject(text: string): boolean {
  return text.split('.').every((part) => PART.test(part));
}

/** Whether it can be subscribed to. */
export function isPattern(text: string): boolean {
  const parts = text.split('.');
  return parts.every(
    (part, index) =>
      PART.test(part) || part === '*' || (part === '>' && index === parts.length - 1),
  );
}

/** Whether there is a subject that both stand for. */
export function overlap(one: string, other: string): boolean {
  const [a, b] = [one.split('.'), other.split('.')];
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [left, right] = [a[at], b[at]];
    if (left === undefined || right === undefined) return false;
    if (left === '>' || right === '>') return true;
    if (left !== right && left !== '*' && right !== '*') return false;
  }
  return true;
}

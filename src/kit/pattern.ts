import { messageOf } from '../lib/errors.ts';
import { re2js } from '../lib/lazy.ts';
import { finding, text } from './schema.ts';

/** Set operations of the Rust dialect: they would compile here but mean something else. */
const CLASS_OPERATION = /(?<!\\)\[[^\]]*(?:&&|--|~~)/;

/**
 * A pattern in the syntax of RE2 and of the Rust `regex` crate, which runs in linear time: inline
 * flags such as `(?i)`, named groups, no look-around and no back-references; `\d`, `\w` and `\s`
 * are ASCII.
 */
export function patternField(description: string) {
  return text()
    .superRefine((value, ctx) => {
      try {
        if (CLASS_OPERATION.test(value))
          throw new Error('a character class cannot hold `&&`, `--` or `~~`');
        re2js().RE2JS.compile(value);
      } catch (error) {
        const reason = messageOf(error).replace(/^error parsing regexp: /, '');
        const hint =
          'look-around and back-references are not supported; write flags inline, as in `(?i)name`';
        ctx.addIssue(
          finding('invalid_pattern', `the pattern cannot be compiled: ${reason}`, { hint }),
        );
      }
    })
    .meta({ description });
}

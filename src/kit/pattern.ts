import { messageOf } from '../lib/errors.ts';
import { re2js } from '../lib/lazy.ts';
import { finding, text } from './schema.ts';

/** Set operations of the Rust dialect: here they would compile and mean something else. */
const CLASS_OPERATION = /(?<!\\)\[[^\]]*(?:&&|--|~~)/;

/**
 * Patterns run in linear time whatever the input, with the syntax of RE2 and of the Rust `regex`
 * crate: inline flags such as `(?i)`, named groups, no look-around and no back-references; `\d`,
 * `\w` and `\s` are ASCII.
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
          'look-around and back-references are not possible; write flags inline, as in `(?i)name`';
        ctx.addIssue(
          finding('invalid_pattern', `the pattern cannot be compiled: ${reason}`, { hint }),
        );
      }
    })
    .meta({ description });
}

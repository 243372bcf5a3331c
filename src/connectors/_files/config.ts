import { z } from 'zod';
import { finding, optional, text } from '../../kit/schema.ts';

/** The fields that several file connectors share. */

export const COMPRESSIONS = ['none', 'gzip', 'zstd', 'auto'] as const;

export function compression(what: string) {
  return z
    .enum(COMPRESSIONS)
    .default('auto')
    .meta({
      description: `Compression of ${what}; \`auto\` goes by the suffix: .gz is gzip, .zst is zstd, anything else is none.`,
    });
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** A one-byte separator, written as its byte code (44) or as a one-character string (","). */
export function byteCode(fallback: number, description: string) {
  return z
    .preprocess(codeOf, z.int().min(1).max(127))
    .default(fallback)
    .superRefine((code, ctx) => {
      if (code === LINE_FEED || code === CARRIAGE_RETURN)
        ctx.addIssue(finding('invalid_value', 'a line end is not allowed here'));
    })
    .meta({ description, examples: [fallback, String.fromCharCode(fallback)] });
}

function codeOf(value: unknown, ctx: z.RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  if (/^\d+$/.test(value)) return Number(value);
  if (value === '\\t') return 9;
  const code = value.charCodeAt(0);
  if (value.length === 1 && code > 0 && code < 128) return code;
  const message = `${JSON.stringify(value)} is not one character of ASCII`;
  const hint = 'write one such as `,`, `;`, `|` or a tab (`"\\t"`), or its byte code';
  ctx.addIssue(finding('invalid_value', message, { hint }));
  return z.NEVER;
}

/** `schemes` are those of the addresses that are accepted as well. */
export function filePath(description: string, schemes: readonly string[] = []) {
  return text()
    .superRefine((path, ctx) => {
      const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(path)?.[1]?.toLowerCase();
      if (scheme === undefined || scheme === 'file' || schemes.includes(scheme)) return;
      const message = `this is an address of ${scheme}, not a path of this machine`;
      const hint = 'copy the files to a local folder, or use a connector for that address';
      ctx.addIssue(finding('invalid_value', message, { hint }));
    })
    .meta({ description });
}

export function onFailure() {
  return z.enum(['keep_old', 'keep_partial']).default('keep_old').meta({
    description:
      'What a run that fails leaves where a file of an earlier run was: that file, or the part that was written of the new one.',
  });
}

export function encryption() {
  return optional(
    z
      .strictObject({
        key: text().meta({ description: 'Key text; the AES key is its SHA-256.', secret: true }),
        previous_keys: z
          .array(text())
          .default([])
          .meta({ description: 'Keys used before; reading tries them after `key`.', secret: true }),
        algorithm: z
          .literal('aes-256-gcm')
          .default('aes-256-gcm')
          .meta({ description: 'The only supported algorithm.' }),
      })
      .meta({ description: 'Encryption at rest.' }),
  );
}

export interface Encryption {
  readonly key: string;
  readonly previous_keys: readonly string[];
}

/** The keys in the order in which reading tries them. */
export function readingKeys(block: Encryption | undefined): readonly string[] | undefined {
  return block === undefined ? undefined : [block.key, ...block.previous_keys];
}

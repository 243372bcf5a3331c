import { finding, text } from '../kit/schema.ts';
import { isHttpUrl } from '../lib/http/http-url.ts';

/** Messages about it do not repeat it: such an address is as good as a password. */
export function address() {
  return text().superRefine((url, ctx) => {
    if (url === '' || isHttpUrl(url)) return;
    ctx.addIssue(
      finding('invalid_value', 'is not an address with `http` or `https`', {
        hint: 'for example https://hooks.example.com/…',
      }),
    );
  });
}

/** With the forms in which servers and proxies repeat it, without their own name in front. */
export function secretAddress(url: string): readonly string[] {
  const { pathname, search } = new URL(url);
  return [url, pathname + search, pathname];
}

/* Ends with 0 when the server in this container answers. */
const port = /:(\d+)$/.exec(process.env.HEADGATE_SERVE_LISTEN ?? '')?.[1] ?? '8080';

try {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, {
    signal: AbortSignal.timeout(4000),
  });
  process.exitCode = answer.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}

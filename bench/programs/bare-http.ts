/**
 * `node bare-http.ts`: the least that can answer a submission: reads the body, keeps nothing.
 * Prints its address.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const receipt = JSON.stringify({
      run_id: '0',
      status: 'queued',
      submitted_at: new Date().toISOString(),
    });
    response
      .writeHead(202, { 'content-type': 'application/json', 'content-length': receipt.length })
      .end(receipt);
  });
});
server.listen(0, '127.0.0.1', () =>
  console.log(`listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);

// The TLS end before a portal, for tests: `node proxy.mjs PORT PORTAL_PORT`, with tls.crt and tls.key beside.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';

const [port, portal] = process.argv.slice(2).map(Number);
const options = { cert: readFileSync('tls.crt'), key: readFileSync('tls.key') };
createServer(options, (incoming, outgoing) => {
  const { method, url: path, headers } = incoming;
  const asked = request({ host: '127.0.0.1', port: portal, method, path, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  asked.on('error', () => outgoing.writeHead(502).end());
  incoming.pipe(asked);
}).listen(port, '127.0.0.1');

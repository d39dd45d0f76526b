/** Watchglass in the place of a kube-apiserver, for the test of the recorder: takes the flags that
 *  the recorder gives, serves from the same etcd, and makes the namespaces that a kube-apiserver
 *  makes at its start. It knows no users: everybody may do everything. */

import { spawn } from 'node:child_process'
import { request } from 'node:https'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  strict: false,
  options: { 'etcd-servers': { type: 'string' }, 'secure-port': { type: 'string' } },
})
const port = String(values['secure-port'])
const program = spawn(
  process.execPath,
  [
    'dist/lib/cli.js',
    'serve',
    '--writable',
    '--auth=none',
    '--log-level=warn',
    `--etcd=${String(values['etcd-servers'])}`,
    `--listen=https://127.0.0.1:${port}`,
    '--tls-cert=test/support/certs/server.pem',
    '--tls-key=test/support/certs/server.key',
  ],
  { stdio: ['ignore', 'inherit', 'inherit'] },
)
program.on('exit', code => process.exit(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => program.kill(signal))

for (const name of ['kube-system', 'kube-public', 'kube-node-lease', 'default']) {
  while ((await create(name).catch(() => 0)) < 200) {
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** The status of the answer. */
function create(name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/api/v1/namespaces',
        headers: { 'Content-Type': 'application/json' },
        rejectUnauthorized: false,
      },
      response => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ metadata: { name } }))
  })
}

/** `watchglass envtest`: its programs take what controller-runtime's envtest passes, and answer
 *  what it waits for (pkg/internal/testing/controlplane). */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../support/program/ports.ts'
import { programFlags } from '../support/program/program-flags.ts'

const certs = 'test/support/certs'

interface Answer {
  readonly status: number
  readonly body: string
}

function get(url: string, options: https.RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http
    const sent = request(url, { agent: false, ...options }, response => {
      let body = ''
      response.on('data', piece => (body += String(piece)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** As envtest does: until the answer is 200. */
async function healthy(url: string): Promise<void> {
  const options = { rejectUnauthorized: false }
  for (;;) {
    const answer = await get(url, options).catch(() => undefined)
    if (answer?.status === 200) return
    await delay(100)
  }
}

function start(t: Test, program: string, flags: readonly string[]): ChildProcess {
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function end(t: Test, child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
}

t.test('programs of the names that envtest looks for take its flags', async t => {
  const folder = t.testdir({})
  const assets = join(folder, 'k8s assets')
  const { status, stdout } = spawnSync(
    process.execPath,
    [...programFlags(), '.', 'envtest', assets],
    {
      encoding: 'utf8',
    },
  )
  t.equal(status, 0)
  t.equal(stdout, `export KUBEBUILDER_ASSETS='${assets}'\n`)

  const help = (name: string): string =>
    spawnSync(join(assets, name), ['--help'], { encoding: 'utf8' }).stdout
  t.match(help('etcd'), /^\s*--unsafe-no-fsync\b/m)
  t.notMatch(help('kube-apiserver'), /^\s*--insecure-port\b/m)

  const clientUrl = `http://127.0.0.1:${await freePort()}`
  const etcd = start(t, join(assets, 'etcd'), [
    `--advertise-client-urls=${clientUrl}`,
    `--data-dir=${folder}`,
    `--listen-client-urls=${clientUrl}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync=true',
  ])
  await healthy(`${clientUrl}/health`)

  for (const kind of ['pem', 'key']) {
    const name = kind === 'pem' ? 'apiserver.crt' : 'apiserver.key'
    copyFileSync(`${certs}/server.${kind}`, join(folder, name))
    copyFileSync(
      `${certs}/client.${kind}`,
      join(folder, `sa-signer.${kind === 'pem' ? 'crt' : kind}`),
    )
  }
  copyFileSync(`${certs}/ca.pem`, join(folder, 'client-cert-auth-ca.crt'))
  const port = await freePort()
  const server = `https://127.0.0.1:${port}`
  const apiServer = start(t, join(assets, 'kube-apiserver'), [
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    '--bind-address=127.0.0.1',
    `--cert-dir=${folder}`,
    `--client-ca-file=${folder}/client-cert-auth-ca.crt`,
    '--disable-admission-plugins=ServiceAccount',
    `--etcd-servers=${clientUrl}`,
    `--secure-port=${port}`,
    `--service-account-issuer=${server}/`,
    `--service-account-key-file=${folder}/sa-signer.crt`,
    `--service-account-signing-key-file=${folder}/sa-signer.key`,
    '--service-cluster-ip-range=10.0.0.0/24',
  ])
  await healthy(`${server}/healthz`)
  t.equal((await get(`${server}/readyz`, { rejectUnauthorized: false })).status, 200)

  const alice = {
    ca: readFileSync(`${certs}/ca.pem`),
    cert: readFileSync(`${certs}/client.pem`),
    key: readFileSync(`${certs}/client.key`),
  }
  const refused = await get(`${server}/api/v1/namespaces`, alice)
  t.equal(refused.status, 403)
  t.match(refused.body, 'User \\"alice\\" cannot list resource \\"namespaces\\"')
  const api = await get(`${server}/api`, alice)
  t.equal(api.status, 200, api.body)

  await end(t, apiServer)
  await end(t, etcd)
})

t.test('mistakes are said', async t => {
  const run = (...args: string[]): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [...programFlags(), '.', 'envtest', ...args], { encoding: 'utf8' })
  t.match(run(), { status: 2, stderr: /envtest needs one DIR/ })
  t.match(run('--as', 'kubelet', '--'), {
    status: 2,
    stderr: /"kubelet" is not etcd or kube-apiserver/,
  })
  t.match(run('--as', 'etcd', '--', 'x'), { status: 2, stderr: /"x" is not a flag/ })
  t.match(
    run('--as', 'kube-apiserver', '--', '--client-ca-file=/none', '--authorization-mode=RBAC'),
    {
      status: 2,
    },
  )
})

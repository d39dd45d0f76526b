/** `serve --data-dir`: a server that is killed goes on where it was. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ask } from '../support/http/served.ts'
import { startProgram } from '../support/program/program.ts'
import { programFlags } from '../support/program/program-flags.ts'

interface Shown {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly spec: {
    readonly clusterIP: string
    readonly ports: readonly { readonly nodePort?: number }[]
  }
}

/** Asks for JSON. */
async function request<T>(
  port: number,
  path: string,
  { method = 'GET', object }: { readonly method?: string; readonly object?: unknown } = {},
): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const body = object === undefined ? undefined : JSON.stringify(object)
  const answer = await ask(port, { path, method, headers, body })
  return JSON.parse(answer.body.toString()) as T
}

const ofCluster = [
  '/api/v1/namespaces',
  '/api/v1/services',
  '/api/v1/serviceaccounts',
  '/api/v1/configmaps',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
]

/** Names, uids and versions of everything but what the server says of itself anew. */
async function objectsAt(port: number): Promise<readonly string[]> {
  const lists = await Promise.all(ofCluster.map(path => request<{ items: Shown[] }>(port, path)))
  return lists.flatMap(({ items }) =>
    items.map(
      ({ metadata: { name, uid, resourceVersion } }) => `${name} ${uid} ${resourceVersion}`,
    ),
  )
}

const services = '/api/v1/namespaces/kept/services'

function service(name: string, ports: number): object {
  const numbers = Array.from({ length: ports }, (_, i) => ({ name: `p${i}`, port: 80 + i }))
  return { metadata: { name }, spec: { type: 'NodePort', ports: numbers } }
}

t.test('a server that is killed goes on where it was, and makes nothing anew', async t => {
  const folder = join(t.testdir({}), 'data')
  const args = ['--data-dir', folder]
  const first = await startProgram(t, args)
  t.match(first.introduction, `etcd   embedded, in ${folder}`)
  const make = (port: number, path: string, object: unknown): Promise<Shown> =>
    request(port, path, { method: 'POST', object })
  await make(first.port, '/api/v1/namespaces', { metadata: { name: 'kept' } })
  await request(first.port, '/api/v1/namespaces/kept/configmaps/kube-root-ca.crt')
  const known = new Map<string, Shown>()
  for (let i = 0; i < 15; i++) {
    const made = await make(first.port, services, service(`before-${i}`, 20))
    known.set(made.metadata.name, made)
  }
  // The last of what controllers do for a namespace.
  let accounts = 0
  while (accounts === 0) {
    const path = '/api/v1/namespaces/kept/serviceaccounts'
    accounts = (await request<{ items: unknown[] }>(first.port, path)).items.length
  }
  const before = await objectsAt(first.port)
  first.signal('SIGKILL')
  await first.stop()

  const second = await startProgram(t, args)
  t.strictSame(await objectsAt(second.port), before)
  for (let i = 0; i < 15; i++) {
    const made = await make(second.port, services, service(`after-${i}`, 20))
    known.set(made.metadata.name, made)
  }
  const all = [...known.values()]
  const portsOf = ({ spec }: Shown): (number | undefined)[] => spec.ports.map(port => port.nodePort)
  t.equal(new Set(all.flatMap(portsOf)).size, 600)
  const [oldest] = known.values()
  const refusedPort = await make(second.port, services, {
    metadata: { name: 'same-port' },
    spec: { type: 'NodePort', ports: [{ port: 1, nodePort: oldest?.spec.ports[0]?.nodePort }] },
  })
  t.match(refusedPort, {
    code: 422,
    message:
      /^Service "same-port" is invalid: spec\.ports\[0\]\.nodePort: Invalid value: \d+: provided port is already allocated$/,
  })
  const clusterIP = oldest?.spec.clusterIP
  const refusedAddress = await make(second.port, services, {
    metadata: { name: 'same-address' },
    spec: { clusterIP, ports: [{ port: 1 }] },
  })
  t.match(refusedAddress, {
    message: `Service "same-address" is invalid: spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
  })
  t.equal(new Set(all.map(({ spec }) => spec.clusterIP)).size, 30)
  t.equal(new Set(all.map(({ metadata }) => metadata.uid)).size, 30)

  const refused = spawnSync(
    process.execPath,
    [...programFlags(), '.', 'serve', '--listen', 'http://127.0.0.1:0', ...args],
    {
      encoding: 'utf8',
    },
  )
  t.match(refused, { status: 2, stderr: /data is in use by another process: stop that one/ })
  t.equal(await second.stop(), 0)
})

t.test('a recording is loaded into a new folder only', async t => {
  const folder = join(t.testdir({}), 'data')
  const load = ['--load', 'test/golden/data/1.36/history.jsonl.gz']
  const args = ['--data-dir', folder, '--durability', 'fsync']
  const first = await startProgram(t, [...args, ...load])
  const name = '/api/v1/namespaces/later'
  const made = await request<Shown>(first.port, '/api/v1/namespaces', {
    method: 'POST',
    object: { metadata: { name: 'later' } },
  })
  t.equal(await first.stop(), 0)
  const second = await startProgram(t, [...args, ...load])
  t.equal((await request<Shown>(second.port, name)).metadata.uid, made.metadata.uid)
  t.equal(await second.stop(), 0)
})

/** kubectl against the program, on generated data and on the recorded one. */

import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { serveHere } from '../support/program/serve-here.ts'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { startServed, caughtUp } from '../support/http/served.ts'
import { HistoryWriter } from '../golden/replay.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-kubectl-'))
const run = promisify(execFile)

interface Output {
  readonly out: string
  readonly err: string
}

async function kubectl(address: string, ...args: string[]): Promise<Output> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home }
  const options = { env, maxBuffer: 64 * 1024 * 1024 }
  const all = ['--server', address, ...args]
  return run(binary, all, options).then(
    ({ stdout, stderr }) => ({ out: stdout, err: stderr }),
    (error: { stdout: string; stderr: string }) => ({ out: error.stdout, err: error.stderr }),
  )
}

function rows({ out }: Output): string[][] {
  const lines = out.trimEnd().split('\n')
  return lines.map(line => line.split(/ {2,}/))
}

const { address } = await serveHere(t, ['--generate', 'pods=30,nodes=3'])

t.test('kubectl gets generated objects in every form', { skip }, async t => {
  const get = (...args: string[]): Promise<Output> => kubectl(address, 'get', ...args)
  const all = rows(await get('pods', '-A'))
  t.strictSame(all[0], ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'])
  t.equal(all.length, 31)
  t.strictSame(rows(await get('pods', '-A', '--chunk-size=2')), all, 'in pages of two')
  t.match((await get('pods', '-A', '-o', 'wide')).out, /NOMINATED NODE +READINESS GATES/)
  t.match((await get('nodes', '-o', 'wide')).out, /INTERNAL-IP .*CONTAINER-RUNTIME/)
  const [namespace = '', name = ''] = all.find(row => row[3] === 'Running') ?? []
  const json = JSON.parse((await get('pod', name, '-n', namespace, '-o', 'json')).out) as Pod
  t.equal(json.kind, 'Pod')
  t.match(
    (await get('pod', name, '-n', namespace, '-o', 'yaml')).out,
    new RegExp(`\\n  name: ${name}\\n`),
  )
  t.equal((await get('pod', name, '-n', namespace, '-o', 'name')).out, `pod/${name}\n`)
  const columns = 'custom-columns=NODE:.spec.nodeName,NAME:.metadata.name'
  t.match(
    (await get('pod', name, '-n', namespace, '-o', columns)).out,
    new RegExp(`NODE +NAME\\n${json.spec.nodeName} +${name}\\n`),
  )
  const onNode = await get(
    'pods',
    '-A',
    '--field-selector',
    `spec.nodeName=${json.spec.nodeName}`,
    '-o',
    'name',
  )
  t.ok(onNode.out.includes(`pod/${name}\n`))
  const [label, value] = Object.entries(json.metadata.labels)[0]!
  const labelled = await get('pods', '-n', namespace, '-l', `${label}=${value}`, '--show-labels')
  t.ok(rows(labelled).some(row => row[0] === name && row.at(-1)?.includes(`${label}=${value}`)))
  const sorted = (await get('pods', '-A', '--sort-by=.metadata.name', '-o', 'name')).out
    .trim()
    .split('\n')
  t.strictSame(sorted, [...sorted].sort())
  t.match((await get('all', '-n', namespace)).out, /deployment\.apps\//)
})

interface Pod {
  readonly kind: string
  readonly metadata: { readonly labels: Record<string, string> }
  readonly spec: { readonly nodeName: string }
}

t.test(
  'kubectl describes, explains and lists resources; failures are readable',
  { skip },
  async t => {
    const [, [, name = ''] = []] = rows(await kubectl(address, 'get', 'pods', '-A'))
    t.match(
      (await kubectl(address, 'describe', 'pod', '-A')).out,
      new RegExp(`^Name: +${name}$`, 'm'),
    )
    t.match((await kubectl(address, 'describe', 'nodes')).out, /^Non-terminated Pods:/m)
    t.match((await kubectl(address, 'explain', 'pod.spec')).out, /^ {2}nodeName\t<string>$/m)
    t.match(
      (await kubectl(address, 'api-resources')).out,
      /^deployments +deploy +apps\/v1 +true +Deployment$/m,
    )
    t.match((await kubectl(address, 'api-versions')).out, /^apps\/v1$/m)
    t.equal(
      (await kubectl(address, 'get', 'pod', 'nope')).err,
      'Error from server (NotFound): pods "nope" not found\n',
    )
    t.match(
      (await kubectl(address, 'get', 'widgets')).err,
      /the server doesn't have a resource type "widgets"/,
    )
    t.match(
      (await kubectl(address, 'get', 'pods', '--field-selector', 'spec.x=1')).err,
      /field label not supported: spec\.x/,
    )
    t.match(
      (await kubectl(address, 'logs', 'pod/nope', '-n', 'default')).err,
      /pods "nope" not found/,
    )
  },
)

t.test(
  'kubectl gets custom resources, which come and go with their definitions',
  { skip },
  async t => {
    const served = await startServed(t)
    const writer = new HistoryWriter(served.client)
    await writer.writeUpTo(205)
    await caughtUp(served, 205)
    const address = `http://127.0.0.1:${served.service.port}`
    t.match(
      (await kubectl(address, 'get', 'widgets', '-A')).err,
      /doesn't have a resource type "widgets"/,
    )
    await writer.writeUpTo(696)
    await caughtUp(served, 696)
    const widgets = await kubectl(address, 'get', 'widgets.example.com', '-A')
    t.match(widgets.out, /^NAMESPACE +NAME +/)
    t.match(widgets.out, /^shop +blue +/m)
    // The second form asks for OpenAPI version 2 as protobuf.
    for (const form of ['plaintext', 'plaintext-openapiv2']) {
      const said = await kubectl(address, 'explain', 'widgets.example.com', '--output', form)
      t.match(said.out, /^KIND: +Widget$/m, form)
      t.match(said.out, /^ +spec\t<Object>/m, form)
    }
    t.match(
      (await kubectl(address, 'describe', 'widget', 'blue', '-n', 'shop')).out,
      /^Kind: +Widget$/m,
    )
  },
)

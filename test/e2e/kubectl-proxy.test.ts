/** kubectl through the proxy: what it writes passes, what it reads comes from the mirror, and
 *  neither is told apart. */

import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { answeredHere, startProxied } from '../support/upstream/proxied.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-kubectl-proxy-'))

interface Output {
  readonly out: string
  readonly err: string
  readonly code: number | null
}

interface Asked {
  readonly input?: string
  readonly env?: Record<string, string>
  /** Ends it as soon as it has said so much. */
  readonly until?: RegExp
}

function kubectlAt(port: number) {
  return (args: readonly string[], { input, env, until }: Asked = {}): Promise<Output> =>
    new Promise(resolve => {
      const child = spawn(binary, ['--server', `http://127.0.0.1:${port}`, ...args], {
        env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env },
      })
      let [out, err] = ['', '']
      child.stdout.on('data', (piece: Buffer) => {
        out += piece.toString()
        if (until?.test(out) === true) child.kill()
      })
      child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
      child.on('close', code => resolve({ out, err, code }))
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
}

function configMap(value: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata: { name: m, namespace: default }
data: { a: "${value}" }
`
}

t.test('kubectl writes through the proxy and reads what it wrote', { skip }, async t => {
  const proxied = await startProxied(t)
  const kubectl = kubectlAt(proxied.port)
  const created = await kubectl(['create', '-f', '-'], { input: configMap('1') })
  t.equal(created.out, 'configmap/m created\n', created.err)
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const read = async (): Promise<string> =>
    (await kubectl(['get', 'configmap', 'm', '-o', 'jsonpath={.data.a}'])).out
  t.equal(await read(), '1')
  const again = await kubectl(['create', '-f', '-'], { input: configMap('1') })
  t.match(again.err, /already exists/)
  const applied = await kubectl(['apply', '-f', '-'], { input: configMap('2') })
  t.match(applied.out, /configmap\/m configured/, applied.err)
  t.equal(await read(), '2')
  const unchanged = await kubectl(['apply', '-f', '-'], { input: configMap('2') })
  t.match(unchanged.out, /configmap\/m unchanged/, unchanged.err)
  for (const [type, patch, value] of [
    ['merge', '{"data":{"a":"3"}}', '3'],
    ['json', '[{"op":"replace","path":"/data/a","value":"4"}]', '4'],
    ['strategic', '{"data":{"a":"5"}}', '5'],
  ] as const) {
    const patched = await kubectl(['patch', 'configmap', 'm', '--type', type, '-p', patch])
    t.match(patched.out, /configmap\/m patched/, patched.err)
    t.equal(await read(), value, type)
  }
  const editor = join(home, 'editor.sh')
  writeFileSync(editor, '#!/bin/sh\nsed -i "s/a: \\"5\\"/a: \\"6\\"/" "$1"\n', { mode: 0o755 })
  const edited = await kubectl(['edit', 'configmap', 'm'], { env: { KUBE_EDITOR: editor } })
  t.match(edited.out, /configmap\/m edited/, edited.err)
  t.equal(await read(), '6')
  const labelled = await kubectl(['label', 'configmap', 'm', 'x=y'])
  t.match(labelled.out, /configmap\/m labeled/, labelled.err)
  t.match((await kubectl(['get', 'configmaps', '-l', 'x=y'])).out, /^m +1 /m)
  const deleted = await kubectl(['delete', 'configmap', 'm'])
  t.match(deleted.out, /"m" deleted/, deleted.err)
  t.match((await kubectl(['get', 'configmap', 'm'])).err, /NotFound/)
})

t.test('kubectl watches through the proxy what others write', { skip }, async t => {
  const proxied = await startProxied(t)
  const kubectl = kubectlAt(proxied.port)
  await kubectl(['create', '-f', '-'], { input: configMap('1') })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const arguments_ = ['get', 'configmaps', '--watch', '-o', 'jsonpath={.data.a}{"\\n"}']
  const watching = kubectl(arguments_, { until: /2\n/ })
  const elsewhere = kubectlAt(proxied.upstream.port)
  const timer = setInterval(() => {
    void elsewhere(['patch', 'configmap', 'm', '--type=merge', '-p', '{"data":{"a":"2"}}'])
  }, 200)
  const { out } = await watching
  clearInterval(timer)
  t.match(out, /2\n/)
})

t.test('kubectl runs a command in a pod through the proxy', { skip }, async t => {
  const proxied = await startProxied(t)
  const { client, port } = proxied
  const cluster = new GeneratedCluster({
    plan: parsePlan('pods=1'),
    random: createRandom(1),
    nowMs: Date.now(),
    prefix: '/registry',
  })
  for (const change of cluster.objects()) {
    if (change.type === 'put') await client.txn({ compares: [], success: [change], failure: [] })
  }
  const kubectl = kubectlAt(port)
  await answeredHere(proxied, '', 'v1', 'pods')
  const columns = 'jsonpath={.items[0].metadata.namespace} {.items[0].metadata.name}'
  const [namespace = '', name = ''] = (
    await kubectl(['get', 'pods', '-A', '-o', columns])
  ).out.split(' ')
  const input = `${'what goes in comes out '.repeat(500)}\n`
  const ran = await kubectl(['exec', '-i', '-n', namespace, name, '--', 'cat'], { input })
  t.ok(ran.out === input, ran.err)
  t.equal(ran.code, 0)
  const discovered = await kubectl(['api-resources'])
  t.match(discovered.out, /^configmaps +cm +v1 +true +ConfigMap$/m)
})

/** `watchglass save`: a cluster as one file, and again from it. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/program/ports.ts'
import { ask } from '../support/http/served.ts'
import { startProgram } from '../support/program/program.ts'
import { programFlags } from '../support/program/program-flags.ts'

function save(...args: string[]): { readonly status: number | null; readonly stderr: string } {
  return spawnSync(process.execPath, [...programFlags(), '.', 'save', ...args], {
    encoding: 'utf8',
  })
}

async function roles(port: number): Promise<string> {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  return (await ask(port, { path })).body.toString()
}

t.test('a saved cluster is the same in another server', async t => {
  const folder = t.testdir({})
  const [file, yaml] = [join(folder, 'cluster.jsonl.gz'), join(folder, 'cluster.yaml')]
  const etcd = `127.0.0.1:${await freePort()}`
  const first = await startProgram(t, ['--etcd-listen', etcd])
  await ask(first.port, {
    path: '/api/v1/namespaces',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'saved' } }),
  })
  const { status, stderr } = save(file, '--etcd', `http://${etcd}`)
  t.equal(status, 0, stderr)
  t.match(stderr, /saved/)
  t.match(save(yaml, '--format', 'kwok', '--etcd', `http://${etcd}`), { status: 0 })
  const before = await roles(first.port)
  await first.stop()
  const second = await startProgram(t, ['--load', file])
  const name = (await ask(second.port, { path: '/api/v1/namespaces/saved' })).status
  t.equal(name, 200)
  const items = (text: string): unknown => (JSON.parse(text) as { items: unknown }).items
  t.strictSame(items(await roles(second.port)), items(before))
  await second.stop()
  const third = await startProgram(t, ['--load', yaml])
  // Revisions are others, and times end now.
  const unnumbered = (text: string): string =>
    text.replace(/"resourceVersion":"\d+",?|\d{4}-\d\d-\d\dT[\d:]+Z/g, '')
  const again = await roles(third.port)
  t.strictSame(items(unnumbered(again)), items(unnumbered(before)), 'by way of kwok, too')
})

t.test('it says what it lacks, and that an etcd cannot be reached', async t => {
  const file = join(t.testdir({}), 'cluster.jsonl')
  t.match(save(), { status: 2, stderr: /save needs one FILE/ })
  t.match(save(file, '--etcd', 'http://127.0.0.1:1'), {
    status: 1,
    stderr:
      /no etcd can be reached: etcd http:\/\/127\.0\.0\.1:1: cannot be reached: connect ECONNREFUSED/,
  })
  const recorded = spawnSync(
    process.execPath,
    [...programFlags(), '.', 'record', '--out', file, '--etcd', 'http://127.0.0.1:1'],
    { encoding: 'utf8' },
  )
  t.match(recorded, { status: 1, stderr: /no etcd can be reached/ })
})

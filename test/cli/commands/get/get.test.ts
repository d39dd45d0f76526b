/** `watchglass get` against a whole service. */

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { load } from '../../../../lib/cli/commands/command-line.ts'
import { rbacOf } from '../../../support/http/rbac.ts'
import { caughtUp, type Served, startServed } from '../../../support/http/served.ts'
import { programFlags } from '../../../support/program/program-flags.ts'
import { type Ran, runHere } from '../../../support/program/run-here.ts'

const run = (...args: string[]): Promise<Ran> => runHere('get', ...args)

/** The same in a process of its own. */
function start(...args: string[]): Promise<Ran> {
  return new Promise(resolve => {
    execFile(process.execPath, [...programFlags(), '.', 'get', ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

async function put(
  { client }: Served,
  namespace: string,
  name: string,
  size: number,
): Promise<void> {
  const key = keyFromText(`/registry/configmaps/${namespace}/${name}`)
  const metadata = {
    name,
    namespace,
    uid: `${namespace}-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  const data = Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, 'v']))
  const value = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

async function startFilled(t: Test): Promise<Served & { readonly address: string }> {
  const served = await startServed(t)
  const sizes = { a: 3, b: 1, c: 2 }
  for (const [name, size] of Object.entries(sizes)) await put(served, 'default', name, size)
  await put(served, 'other', 'd', 9)
  await caughtUp(served, 4)
  return { ...served, address: `http://127.0.0.1:${served.service.port}` }
}

t.test('a table, CSV and JSON, sorted, searched and counted by the server', async t => {
  const { address } = await startFilled(t)
  const server = ['--server', address]
  const table = await run(
    'configmaps',
    ...server,
    '--sort',
    '-data',
    '-o',
    'table',
    '--columns',
    'name,data',
  )
  t.same(table, { code: 0, stderr: '', stdout: 'NAME   DATA\na      3\nc      2\nb      1\n' })
  const all = await run(
    'cm',
    ...server,
    '-A',
    '--where',
    'data>2',
    '--columns',
    'namespace,name',
    '-o',
    'csv',
  )
  t.equal(all.stdout, 'Namespace,Name\r\ndefault,a\r\nother,d\r\n')
  const counts = await run('configmap', ...server, '-A', '--count-by', 'namespace', '-o', 'table')
  t.equal(counts.stdout, 'NAMESPACE   COUNT\ndefault     3\nother       1\n')
  const one = await run('configmaps', ...server, '-n', 'other', '--limit', '1')
  t.match(JSON.parse(one.stdout), { kind: 'View', total: 1, rows: [{ name: 'd' }] })
  const none = await run('configmaps', ...server, '--search', 'nothing like it', '-o', 'table')
  t.equal(none.stdout, 'No resources found\n')
})

t.test('all rows come, page after page of one revision', async t => {
  const served = await startFilled(t)
  for (let i = 0; i < 1_001; i++) await put(served, 'many', `m-${String(i).padStart(4, '0')}`, 0)
  await caughtUp(served, 1_005)
  const { stdout } = await run(
    'cm',
    '--server',
    served.address,
    '-n',
    'many',
    '-o',
    'csv',
    '--columns',
    'name',
  )
  const names = stdout.trimEnd().split('\r\n').slice(1)
  t.equal(names.length, 1_001)
  t.equal(new Set(names).size, 1_001)
})

t.test('mistakes and refusals are one line', async t => {
  const { address } = await startFilled(t)
  const server = ['--server', address]
  t.match(await start('nobodies', ...server), {
    code: 2,
    stderr: 'watchglass: the server has no resource "nobodies" that can be listed\n',
  })
  t.match(await run('cm', ...server, '--where', 'data>'), {
    code: 2,
    stderr: /^watchglass: where, column 6: /,
  })
  t.match(await run('cm', ...server, '-n', 'a', '-A'), {
    code: 2,
    stderr: /--namespace goes without --all-namespaces/,
  })
  t.match(await run(...server), { code: 2, stderr: /get needs one RESOURCE/ })
  t.match(await run('cm', '--server', 'ftp://x'), {
    code: 2,
    stderr: /is not an http or https URL/,
  })
  t.match(await start('cm', '--server', 'http://127.0.0.1:1'), { code: 1, stderr: /ECONNREFUSED/ })
})

t.test('a live page is lines of JSON in a pipe', async t => {
  const served = await startFilled(t)
  const args = [
    ...programFlags(),
    '.',
    'get',
    'cm',
    '--server',
    served.address,
    '--sort',
    'name',
    '--watch',
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  let text = ''
  let isPut = false
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    text += piece.toString()
    if (!isPut && text.includes('"type":"PAGE"')) {
      isPut = true
      await put(served, 'default', 'aa', 1)
    }
    if (text.includes('"type":"CHANGE"')) break
  }
  const [page, change] = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
  t.match(page, { type: 'PAGE', rows: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
  t.match(change, { type: 'CHANGE', rows: [{ index: 1, row: { name: 'aa' } }] })
  child.kill('SIGINT')
  const code = await new Promise<number | null>(resolve => child.on('exit', resolve))
  t.equal(code, 0)
})

t.test('the server and the user of a kubeconfig', async t => {
  const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf('admin,root,,system:masters\nt,ann,u,'),
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: {
      certFile: 'test/support/certs/server.pem',
      keyFile: 'test/support/certs/server.key',
    },
  })
  await served.service.ready
  const folder = mkdtempSync(join(tmpdir(), 'watchglass-get-'))
  const file = join(folder, 'config')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'root',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${served.service.port}`,
          'certificate-authority-data': pem('ca.pem').toString('base64'),
        },
      },
    ],
    users: [
      { name: 'root', user: { token: 'admin' } },
      { name: 'ann', user: { token: 't' } },
    ],
    contexts: ['root', 'ann'].map(name => ({
      name,
      context: { cluster: 'c', user: name, namespace: 'kube-system' },
    })),
  }
  writeFileSync(file, JSON.stringify(config))
  const asRoot = await run('namespaces', '--kubeconfig', file, '--columns', 'name', '-o', 'csv')
  t.match(asRoot, { code: 0, stdout: /^Name\r\n(?:.*\r\n)*kube-system\r\n/ })
  const asAnn = await run('pods', '--kubeconfig', file, '--context', 'ann')
  t.match(asAnn, {
    code: 1,
    stderr: /User "ann" cannot list resource "pods" in API group "" in the namespace "kube-system"/,
  })
})

t.test('options of kubectl by their letters, and values that begin with a dash', t => {
  const line = load(
    ['get', 'pods', '-n', 'x', '-o', 'csv', '-l', 'a=b', '--sort', '-age,name', '-w'],
    {},
  )
  t.equal(line.kind, 'run')
  if (line.kind === 'run') {
    const { values, operands } = line
    t.strictSame(operands, ['pods'])
    t.equal(values.text('namespace'), 'x')
    t.equal(values.text('output'), 'csv')
    t.equal(values.text('selector'), 'a=b')
    t.equal(values.text('sort'), '-age,name')
    t.equal(values.switch('watch'), true)
  }
  t.throws(() => load(['get', 'pods', '--sort', '--watch'], {}), /--sort needs a value/)
  t.throws(() => load(['get', 'pods', '--where', '-x'], {}), /--where needs a value/)
  t.end()
})

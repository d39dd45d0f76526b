/** A cluster that JavaScript has started: credentials, objects, faults, and that nothing stays. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { commands } from '../../lib/cli/commands/commands.ts'
import { argumentsOf, optionNames } from '../../lib/cluster/cluster-options.ts'
import { startCluster, type TestCluster } from '../../lib/cluster/start-cluster.ts'

const program = 'dist/program/cli.js'

async function started(
  t: Test,
  options: Parameters<typeof startCluster>[0] = {},
): Promise<TestCluster> {
  const cluster = await startCluster({ program, ...options })
  t.teardown(() => cluster.stop())
  return cluster
}

function ask(
  { address, certificate, token }: TestCluster,
  path: string,
): Promise<{ code: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    request(`${address}${path}`, { ca: certificate, headers, agent: false }, answer => {
      text(answer).then(body => resolve({ code: answer.statusCode, body }), reject)
    })
      .on('error', reject)
      .end()
  })
}

t.test('options are those of run', async t => {
  const rows = commands.run.options.map(({ name }) => name).filter(name => name !== 'stdio')
  t.strictSame(Object.values(optionNames).toSorted(), rows.toSorted())
  for (const [key, name] of Object.entries(optionNames)) {
    t.equal(
      key.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`),
      name,
    )
  }
  t.strictSame(
    argumentsOf({ fault: ['reset', 'stale'], keep: true, loop: false, seed: 2, load: undefined }),
    ['--fault=reset', '--fault=stale', '--keep', '--seed=2'],
  )
  t.throws(() => argumentsOf({ faults: 'reset' } as object), /no option "faults"; it takes crds, /)
})

t.test('address, credentials, objects', async t => {
  const folder = t.testdir({
    'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\n',
  })
  const cluster = await started(t)
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    `${folder}/a.yaml`,
  )
  t.equal((await ask(cluster, '/api/v1/namespaces/shop/configmaps/b')).code, 200)
  await t.rejects(cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'A' } }), {
    message: /^object 1: Namespace A: .* is invalid/,
  })
  await t.rejects(cluster.apply(`${folder}/none`), { message: /cannot be read/ })
  t.equal(readFileSync(cluster.kubeconfigFile, 'utf8'), cluster.kubeconfig)
  t.match(cluster.kubeconfig, `server: ${cluster.address}`)
  t.equal(cluster.env['KUBECONFIG'], cluster.kubeconfigFile)
  await Promise.all([cluster.stop(), cluster.stop()])
  t.notOk(existsSync(cluster.kubeconfigFile))
  await t.rejects(cluster.apply(), Error, 'a cluster that has ended says so')
})

t.test('faults are switched while it runs', async t => {
  const cluster = await started(t, { fault: 'error,code=503,verb=list' })
  const { faults } = cluster
  const codes = async (): Promise<unknown> => [
    (await ask(cluster, '/api/v1/namespaces')).code,
    (await ask(cluster, '/api/v1/namespaces/default')).code,
  ]
  t.strictSame(await codes(), [503, 200])
  await faults.withFault('error,code=429,verb=get', async () => {
    t.strictSame(await codes(), [503, 429], 'beside the rules that are active')
    t.strictSame(await faults.met(), [
      { rule: 'error,code=503,verb=list', met: 1 },
      { rule: 'error,code=429,verb=get', met: 1 },
    ])
  })
  t.strictSame(await codes(), [503, 200])
  await t.rejects(faults.set('no-such'), { message: /"no-such" is no fault/ })
  await t.rejects(
    faults.withFault(['error,code=429,verb=get'], () => {
      throw new Error('the test has failed')
    }),
    { message: 'the test has failed' },
  )
  t.strictSame(await codes(), [503, 200], 'as before what was refused, and what has failed')
  await faults.clear()
  t.strictSame(await codes(), [200, 200])
  await Promise.all(
    ['get', 'list'].map(verb => faults.withFault(`error,code=429,verb=${verb}`, () => {})),
  )
  t.strictSame(await faults.met(), [], 'tasks at one time take away their own')
})

t.test('what the program refuses rejects in its words', async t => {
  await t.rejects(startCluster({ program, churn: '1/s' }), {
    message: /--churn changes generated objects: add --generate/,
  })
})

t.test('nothing stays of a process that has stopped nothing, and nothing keeps it', async t => {
  const module = pathToFileURL('dist/lib/cluster/index.js').href
  const source = `
    const { startCluster } = await import(${JSON.stringify(module)})
    const { kubeconfigFile } = await startCluster({ program: ${JSON.stringify(program)} })
    process.stdout.write(kubeconfigFile + '\\n')
    if (process.argv[1] === 'stay') setInterval(() => {}, 1000)`
  for (const end of ['go', 'stay']) {
    const args = ['--input-type=module', '-e', source, end]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const file = line.toString().trim()
    t.match(file, /kubeconfig$/)
    if (end === 'stay') child.kill('SIGKILL')
    await once(child, 'exit')
    while (existsSync(file)) await new Promise(resolve => setTimeout(resolve, 10))
  }
})

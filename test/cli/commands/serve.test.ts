import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { runnerOf } from '../../../lib/cli/commands/run.ts'
import { programFlags } from '../../support/program/program-flags.ts'
import { contextHere } from '../../support/program/run-here.ts'
import { startProgram } from '../../support/program/program.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import { lacksThreads } from '../../support/runner/other-node.ts'

const certs = 'test/support/certs'
const ca = `${certs}/ca.pem`
const anyPort = 'http://127.0.0.1:0'
const etcdOnly = ['--listen=none', '--etcd=http://127.0.0.1:1', '--etcd-listen=127.0.0.1:0']
const https = ['--listen', 'https://127.0.0.1:0', '--tls-cert', `${certs}/server.pem`]

/** Why `serve` does not start. A process for each case would take most of the time of this file. */
async function refusal(...args: string[]): Promise<unknown> {
  try {
    const serve = await runnerOf('serve')
    await serve(contextHere(['serve', ...args]))
    return undefined
  } catch (error) {
    return error
  }
}

t.test('serve says where it serves, what it holds and what to try, and ends in peace', async t => {
  const program = await startProgram(t, ['--generate', 'pods=20', '--churn', '50/s'])
  t.match(
    program.introduction,
    /^Watchglass serves the Kubernetes API at http:\/\/127\.0\.0\.1:\d+$/m,
  )
  t.match(program.introduction, /^ {2}holds {2}.*\b20 pods, /m)
  t.equal(program.introduction.match(/kubectl |curl /g)?.length, 4)
  const { port } = program
  const ready = await ask(port, { path: '/readyz?verbose' })
  t.match(ready.body.toString(), /^\[\+\]ping ok\n[^]*\[\+\]shutdown ok\nreadyz check passed\n$/)
  const pods = await ask(port, { path: '/api/v1/pods?limit=5' })
  t.equal((JSON.parse(pods.body.toString()) as { items: unknown[] }).items.length, 5)
  t.ok(pods.headers['audit-id'])
  const metrics = await ask(port, { path: '/metrics' })
  t.match(
    metrics.body.toString(),
    /watchglass_requests_total\{verb="list",group="",version="v1",resource="pods",code="200",source="mirror",.*\} 1/,
  )
  t.match(
    metrics.body.toString(),
    /watchglass_keyspace_entries\{keyspace="\/registry\/minions\/"\} /,
  )
  t.equal(await program.stop(), 0)
})

t.test(
  'serve with two threads answers as with one, and counts as one',
  { skip: lacksThreads() },
  async t => {
    const pods = 480
    // Where nobody writes, the revision stays: leases of a writable one are renewed.
    const common = ['--read-only', '--shutdown-delay', '1']
    const args = ['--generate', `pods=${pods}`, '--threads', '2', ...common]
    const program = await startProgram(t, args)
    const { port } = program
    const list = (lists: number, headers: Record<string, string>): Promise<HttpAnswer[]> =>
      Promise.all(Array.from({ length: lists }, () => ask(port, { path: '/api/v1/pods', headers })))
    const [{ body: whole }, ...others] = (await list(4, {})) as [HttpAnswer, ...HttpAnswer[]]
    const { items } = JSON.parse(whole.toString()) as { items: { metadata: { uid: string } }[] }
    t.equal(new Set(items.map(({ metadata: { uid } }) => uid)).size, pods)
    t.ok(
      others.every(({ body }) => body.equals(whole)),
      'whichever thread has encoded it',
    )
    const kept = (await ask(port, { path: '/metrics' })).body.toString()
    const segments = Number(/^watchglass_segments (\d+)$/m.exec(kept)?.[1])
    t.ok(segments >= pods / 24 && segments <= pods / 20, 'each leaf is kept once for both threads')
    for (const { body } of await list(2, { 'accept-encoding': 'gzip' })) {
      t.ok(gunzipSync(body).equals(whole))
    }
    const ready = await ask(port, { path: '/readyz?verbose' })
    t.match(ready.body.toString(), /^readyz check passed$/m)
    const metrics = (await ask(port, { path: '/metrics' })).body.toString()
    t.match(metrics, /^watchglass_requests_total\{verb="list",.*resource="pods",.*\} 6$/m)
    t.equal(metrics.match(/^# TYPE watchglass_requests_total/gm)?.length, 1)
    t.match(metrics, /^watchglass_keyspace_entries\{keyspace="\/registry\/pods\/"\} 480$/m)
    const stopped = program.stop()
    for (;;) {
      const { status, headers } = await ask(port, { path: '/readyz' })
      if (status === 200) continue
      t.equal(status, 500)
      t.equal(headers.connection, 'close', 'threads have clients connect anew')
      break
    }
    t.equal(await stopped, 0)
  },
)

t.test('serve mirrors an etcd that is there', async t => {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      ...programFlags(),
      '.',
      'serve',
      '--listen',
      'none',
      '--generate',
      'pods=3',
      '--etcd-listen',
      '127.0.0.1:0',
      '--log-level',
      'warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  t.teardown(() => child.kill())
  const [line] = (await once(child.stderr!, 'data')) as [Buffer]
  const { etcd } = JSON.parse(line.toString()) as { etcd: string }
  const program = await startProgram(t, ['--etcd', `http://${etcd.replace(/^http:\/\//, '')}`])
  const { status, body } = await ask(program.port, { path: '/api/v1/pods' })
  t.equal(status, 200)
  t.equal((JSON.parse(body.toString()) as { items: unknown[] }).items.length, 3)
  t.equal(await program.stop(), 0)
})

t.test('serve refuses what would not do what was meant', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port: taken } = holder.address() as AddressInfo
  const cases: readonly (readonly [string[], RegExp])[] = [
    [
      ['--listen', 'http://0.0.0.0:8001'],
      /refusing to listen on 0\.0\.0\.0 without authentication: .*set --auth/,
    ],
    [['--auth', 'magic'], /--auth "magic" is not delegate, requestheader, rbac or none/],
    [['--listen', '8001'], /--listen "8001" is not an address/],
    [['--listen', 'https://127.0.0.1:0'], /needs --tls-cert and --tls-key/],
    [['--tls-cert', 'a.pem'], /--tls-cert needs --listen https/],
    [['--churn', '5/s'], /--churn changes generated objects: add --generate/],
    [
      ['--etcd', 'http://127.0.0.1:1', '--generate', 'pods=1'],
      /--generate is for --etcd embedded only/,
    ],
    [['--durability', 'os'], /--durability needs --data-dir/],
    [['--data-dir', '/x', '--durability', 'often'], /--durability "often" is not os or fsync/],
    [
      ['--data-dir', '/x', '--etcd', 'http://127.0.0.1:1'],
      /--data-dir is for --etcd embedded only/,
    ],
    [['--listen', 'none'], /--listen none needs --etcd-listen/],
    [
      ['--listen', 'none', '--etcd-listen', '127.0.0.1:1', '--upstream', 'http://127.0.0.1:1'],
      /--listen none needs --etcd/,
    ],
    [
      ['--etcd-listen-prefix', '/x/', '--upstream', 'http://127.0.0.1:1', '--auth', 'none'],
      /--etcd-listen-prefix needs --etcd/,
    ],
    [['--etcd-listen', '2379'], /--etcd-listen "2379" is not HOST:PORT/],
    [
      ['--simulate', 'nodes,cars'],
      /"cars" cannot be simulated; it takes all, nodes, deployments, jobs/,
    ],
    [
      ['--enable-admission-plugins', 'ResourceQuotas'],
      /"ResourceQuotas" is no admission plugin; it takes AlwaysAdmit, NamespaceLifecycle, /,
    ],
    [['--enable-admission-plugins', 'EventRateLimit'], /"EventRateLimit" is not here/],
    [
      ['--disable-admission-plugins', 'PodSecurity', '--read-only'],
      /--disable-admission-plugins needs a server that takes writes/,
    ],
    [
      ['--webhook-service', 'hooks=https://127.0.0.1:1'],
      /"hooks=https:\/\/127\.0\.0\.1:1" is not NAMESPACE\/NAME=https:\/\/HOST:PORT/,
    ],
    [['--webhook-host', 'a.example', '--read-only'], /--webhook-host needs a server that takes/],
    [['--simulate', 'nodes', '--read-only'], /--simulate needs a server that takes writes/],
    [['--etcd-listen', '0.0.0.0:2379'], /refusing to serve etcd's API on 0\.0\.0\.0:2379: anyone/],
    [
      ['--etcd-listen-cert', 'a', '--etcd-listen-key', 'b'],
      /--etcd-listen-cert needs --etcd-listen/,
    ],
    [['--etcd-listen', '127.0.0.1:0', '--etcd-listen-cert', 'a'], /must be given together/],
    [
      ['--etcd-listen', '127.0.0.1:0', '--etcd-listen-allow', 'a=/b/'],
      /--etcd-listen-allow needs --etcd-listen-client-ca/,
    ],
    [['--etcd-listen', '127.0.0.1:0', '--etcd-listen-allow', 'a'], /"a" is not NAME=PREFIX/],
    [
      [
        '--etcd=embedded',
        '--etcd-listen=127.0.0.1:0',
        '--etcd-listen-allow=a=/b/',
        `--etcd-listen-cert=${certs}/server.pem`,
        `--etcd-listen-key=${certs}/server.key`,
        `--etcd-listen-client-ca=${ca}`,
      ],
      /--etcd-listen-allow cannot be used with --etcd embedded/,
    ],
    [['--etcd-listen-client-ca', ca], /--etcd-listen-client-ca needs --etcd-listen-cert and/],
    [
      [...etcdOnly, '--etcd-listen-cert', ca, '--etcd-listen-key', `${certs}/client.key`],
      /^--etcd-listen-key .*client\.key is not the key of --etcd-listen-cert .*ca\.pem$/,
    ],
    [['--etcd', 'embedded,http://127.0.0.1:1'], /--etcd embedded goes with no other endpoint/],
    [
      ['--etcd', 'https://127.0.0.1:1', '--etcd-cert', `${certs}/client.pem`, '--etcd-key', ca],
      /^--etcd-key .*ca\.pem has no key \(PEM\)$/,
    ],
    [['--listen', anyPort, '--audit-log', 'none/audit.log'], /--audit-log cannot be written/],
    [['--listen', anyPort, '--resources', 'package.json'], /package\.json is not a list/],
    [
      ['--listen', anyPort, '--admin-listen', `http://127.0.0.1:${taken}`],
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${taken}: listen EADDRINUSE`),
    ],
    [
      [...https, '--tls-key', `${certs}/server.key`, '--client-ca', 'LICENSE'],
      /--client-ca LICENSE has no certificate/,
    ],
    [
      [...https, '--tls-key', `${certs}/client.key`],
      /^--tls-key .*client\.key is not the key of --tls-cert .*server\.pem$/,
    ],
    // Churn that went on would keep this process alive.
    [
      ['--listen', `http://127.0.0.1:${taken}`, '--generate', 'pods=1', '--churn', '1/s'],
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${taken}: listen EADDRINUSE`),
    ],
    [['--generate', 'pods=1000000', '--memory-budget', 'much'], /is not a size such as 4GiB/],
  ]
  for (const [args, message] of cases) {
    const error = await refusal(...args)
    t.ok(error instanceof CacheError, args.join(' '))
    t.match(error, { code: 'invalid_request', message })
  }
})

t.test('a refused start says why on standard error, without a stack, and exits with 2', async t => {
  const args = [...programFlags(), '.', 'serve', '--listen', 'http://0.0.0.0:8001']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  t.equal(status, 2)
  t.match(stderr, /^watchglass: refusing to listen on 0\.0\.0\.0 without authentication/)
  t.notMatch(stderr, /^ +at /m, 'no stack')
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { freePort } from '../../support/program/ports.ts'
import { programFlags } from '../../support/program/program-flags.ts'

interface Checked {
  readonly code: number | null
  readonly lines: readonly string[]
}

/** Runs `watchglass check`. */
async function check(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Checked> {
  const child = spawn(process.execPath, [...programFlags(), '.', 'check', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, lines: text.trim().split('\n') }
}

/** Variables of Services called `watchglass` and `watchglass-etcd`. */
const ofServices = {
  WATCHGLASS_SERVICE_HOST: '10.0.0.1',
  WATCHGLASS_PORT: 'tcp://10.0.0.1:443',
  WATCHGLASS_PORT_443_TCP_ADDR: '10.0.0.1',
  WATCHGLASS_ETCD_SERVICE_PORT: '2379',
  WATCHGLASS_ETCD_PORT_2379_TCP: 'tcp://10.0.0.2:2379',
}

t.test('check says of everything whether it works', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(async () => {
    await etcd.close()
    engine.close()
  })
  const put = { type: 'put', key: keyFromText('/registry/a'), value: Buffer.from('x') } as const
  await client.txn({ compares: [], success: [put], failure: [] })
  const listen = `http://127.0.0.1:${await freePort()}`
  const nobody = `http://127.0.0.1:${await freePort()}`
  const [good, bad] = await Promise.all([
    check(['--etcd', `http://${etcd.address}`, '--listen', listen]),
    check(
      [
        `--etcd ${nobody} --upstream ${nobody} --auth none --listen ${listen}`,
        '--prefix registry --audit-log /nowhere/audit.log --memory-budget 1',
        '--upstream-ca test/support/certs/ca.pem --continue-key-file package.json',
        '--etcd-listen 127.0.0.1:0 --etcd-listen-cert test/support/certs/server.pem',
        '--etcd-listen-key LICENSE --simulate nodes',
      ]
        .join(' ')
        .split(' '),
      { WATCHGLASS_UPSTRAEM: 'x', ...ofServices },
    ),
  ])
  t.equal(good.code, 0)
  for (const line of [
    `ok    --listen ${listen}: free`,
    'ok    --kubernetes-version 1.36: compared with recordings of a server of it',
    `ok    etcd http://${etcd.address}: 3.5.30`,
    `ok    etcd http://${etcd.address}: read /registry/: 1 keys at revision 2`,
    `ok    etcd http://${etcd.address}: watch /registry/: opened, and progress is answered`,
    'ok    --auth (as usual): off: anyone who can connect can read everything',
    '0 failed, 0 warned',
  ]) {
    t.ok(good.lines.includes(line), `${line}\nof\n${good.lines.join('\n')}`)
  }
  t.equal(bad.code, 1)
  for (const line of [
    /^FAIL {2}--prefix, .*"registry" must begin with a slash/,
    /^FAIL {2}--audit-log \/nowhere\/audit\.log: ENOENT/,
    /^FAIL {2}--memory-budget: .* is not a size such as 4GiB/,
    /^FAIL {2}--continue-key-file package\.json: /,
    /^FAIL {2}etcd http:\S+: cannot be reached: connect ECONNREFUSED/,
    /^FAIL {2}upstream http:\S+: the upstream cannot be reached: connect ECONNREFUSED/,
    /^FAIL {2}--etcd-listen 127\.0\.0\.1:0: --etcd-listen-key LICENSE has no key \(PEM\)$/,
    /^FAIL {2}--writable, --read-only and --simulate: --simulate needs a server that takes writes/,
    /^ok {4}--upstream-ca test\/support\/certs\/ca\.pem: ends on 2\d\d\d-/,
    /^warn {2}WATCHGLASS_UPSTRAEM: no option has this variable$/,
    /^8 failed, 1 warned: serve would not work$/,
  ]) {
    t.ok(
      bad.lines.some(text => line.test(text)),
      `${line}\nin\n${bad.lines.join('\n')}`,
    )
  }
  t.notOk(
    bad.lines.some(text => Object.keys(ofServices).some(name => text.includes(`  ${name}:`))),
    'Kubernetes sets that',
  )
})

t.test('a taken port fails, and an upstream is not waited for as long as a dead etcd', async t => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.close()
    silent.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const nobody = `http://127.0.0.1:${await freePort()}`
  const { code, lines } = await check(['--listen', url, '--upstream', url, '--etcd', nobody])
  t.equal(code, 1)
  for (const line of [
    `FAIL  --listen ${url}: cannot listen on ${url.slice(7)}: listen EADDRINUSE: address already in use ${url.slice(7)}: stop what listens there, or name another address by --listen`,
    `FAIL  upstream ${url}: /version has no answer within 3 s`,
  ]) {
    t.ok(lines.includes(line), `${line}\nof\n${lines.join('\n')}`)
  }
})

t.test('check of a read replica, which listens to clients of etcd only', async t => {
  const { lines } = await check(['--listen', 'none', '--etcd-listen', '127.0.0.1:0'])
  t.strictSame(
    lines.filter(line => line.startsWith('FAIL')),
    [],
  )
})

t.test('check asks an aggregated server, which has neither a core group nor reviews', async t => {
  const resource = { resource: 'things', verbs: ['list', 'watch'] }
  const groups = ['open.example.com', 'half.example.com', 'closed.example.com'].map(name => ({
    metadata: { name },
    versions: [{ version: 'v1', resources: [resource] }],
  }))
  const answers: Record<string, object> = {
    '/version': { gitVersion: 'v1.2.3' },
    '/apis': { kind: 'APIGroupDiscoveryList', items: groups },
    '/apis/open.example.com/v1/things?limit=1': { items: [] },
    // As a server answers that has the right but not the object, only less.
    '/apis/open.example.com/v1/things/asked-for-no-object': {},
    '/apis/half.example.com/v1/things?limit=1': { items: [] },
  }
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    response.writeHead(answer !== undefined ? 200 : request.url === '/api' ? 404 : 403)
    response.end(JSON.stringify(answer ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { lines } = await check(['--upstream', url, '--etcd', url, '--auth', 'none'])
  const text =
    '2 of 3 resources; these pass always: things.closed.example.com; ' +
    'gets of these pass always, as we may list and not get them: things.half.example.com'
  t.ok(lines.includes(`ok    upstream ${url}: v1.2.3`), lines.join('\n'))
  t.ok(lines.includes(`warn  upstream ${url}: what we may get and list: ${text}`), lines.join('\n'))
})

t.test('check warns of a prefix that is not that of the API server behind', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const server = createServer((request, response) => {
    response.end(request.url === '/version' ? '{"gitVersion":"v1.36.2"}' : '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    await etcd.close()
    engine.close()
  })
  const key = keyFromText('/registry/namespaces/default')
  const put = { type: 'put', key, value: Buffer.from('x') } as const
  await client.txn({ compares: [], success: [put], failure: [] })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const args = ['--upstream', url, '--etcd', `http://${etcd.address}`, '--auth', 'none']
  const [right, narrow] = await Promise.all([
    check(args),
    check([...args, '--prefix', '/registry/shop.example.com']),
  ])
  const warned = ({ lines }: Checked): string[] => lines.filter(line => line.includes('--prefix /'))
  t.strictSame(warned(right), [])
  t.match(warned(narrow), [
    /^warn {2}--prefix \/registry\/shop\.example\.com: no namespaces below it: not where an API server/,
  ])
})

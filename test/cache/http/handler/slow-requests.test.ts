import t from 'tap'
import { defaultLimits } from '../../../../lib/cache/mirror/limits.ts'
import { sleep } from '../../../../lib/base/clock.ts'
import type { LogFields, Logger } from '../../../../lib/base/logger.ts'
import { slowMs, SlowRequests } from '../../../../lib/cache/http/handler/slow-requests.ts'
import type { RequestContext } from '../../../../lib/cache/http/request/request-context.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { silentLogger } from '../../../support/silent-logger.ts'
import { ask } from '../../../support/http/served.ts'
import { moment } from '../../../support/http/moment.ts'
import {
  answeredHere,
  configMap,
  startFront,
  startProxied,
} from '../../../support/upstream/proxied.ts'

interface Line {
  readonly message: string
  readonly fields: LogFields
}

function recorder(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = []
  const warn = (message: string, fields: LogFields = {}): void =>
    void lines.push({ message, fields })
  return { logger: { ...silentLogger, warn }, lines }
}

const maps = '/api/v1/namespaces/default/configmaps'
const trace = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${trace}-b7ad6b7169203331-01`

t.test('a slow request is logged with where its time went, and with its trace', async t => {
  const { logger, lines } = recorder()
  const events: string[] = []
  let delayMs = 0
  const proxied = await startProxied(t, {
    objects: [[maps, configMap('a', '1')]],
    seenOf: client => ({
      ...client,
      range: async (request, signal) => {
        if (delayMs > 0) await sleep(systemClock, delayMs)
        return client.range(request, signal)
      },
      txn: (...args) => client.txn(...args),
      watch: (...args) => client.watch(...args),
      compact: (...args) => client.compact(...args),
      grantLease: (...args) => client.grantLease(...args),
      revokeLease: (...args) => client.revokeLease(...args),
      keepLeaseAlive: (...args) => client.keepLeaseAlive(...args),
      status: (...args) => client.status(...args),
      close: () => client.close(),
    }),
    service: {
      logger,
      audit: () => ({ write: line => void events.push(line) }),
      // The answer below is waited for.
      limits: { ...defaultLimits, probeTimeoutMs: 10_000 },
    },
  })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  delayMs = 1_200
  const { status } = await proxied.get(`${maps}/a`, { traceparent })
  delayMs = 0
  t.equal(status, 200)
  const [slow, ...others] = lines.filter(({ message }) => message === 'a request was slow')
  // The handler tells of none that was quick.
  t.equal(slowMs, 1_000)
  t.ok(others.every(({ fields }) => Number(fields['tookMs']) >= slowMs))
  t.match(slow?.fields, {
    verb: 'get',
    resource: 'configmaps',
    code: 200,
    source: 'mirror',
    reviewMs: 0,
    traceId: trace,
    auditId: /^[0-9a-f-]{36}$/,
  })
  const { tookMs, etcdMs, encodeMs } = { ...slow?.fields } as Record<string, number>
  t.ok(etcdMs! >= 1_000 && etcdMs! <= tookMs!, `${etcdMs} of ${tookMs} ms`)
  t.ok(encodeMs! < 500)
  t.match(JSON.parse(events.at(-1) ?? '{}'), {
    auditID: slow?.fields['auditId'],
    annotations: { 'watchglass/trace-id': trace },
  })
  const body = JSON.stringify(configMap('b', '2'))
  await ask(proxied.port, { method: 'POST', path: maps, headers: { traceparent }, body })
  const passed = proxied.upstream.seen.findLast(({ method }) => method === 'POST')
  t.equal(passed?.headers['traceparent'], traceparent, 'it passes as it came')
})

t.test('a read that waits for the proof of a mirrored API is not slow by that', async t => {
  const large = 'x'.repeat(50_000)
  const objects = ['a', 'b'].map(name => [maps, configMap(name, large)] as const)
  const { upstream } = await startProxied(t, { objects })
  const { logger, lines } = recorder()
  const service = await startFront(undefined, upstream, {
    token: () => Promise.resolve('ours'),
    service: { source: { isWantedAtStart: () => true }, logger },
  })
  t.teardown(() => service.stop())
  const originNow = async (query: string): Promise<string> => {
    const { headers } = await ask(service.port, { path: `/api/v1/configmaps${query}` })
    return String(headers['x-watchglass'])
  }
  while (!(await originNow('?resourceVersion=0')).startsWith('mirror')) await moment()
  for (let i = 0; !/proof=/.test(await originNow('')); i++) {
    await upstream.create('/api/v1/namespaces/default/secrets', { metadata: { name: `s${i}` } })
  }
  upstream.before = async ({ url }) => {
    if (url.includes('limit=1')) await sleep(systemClock, 1_100)
    return undefined
  }
  lines.length = 0
  while (!/proof=/.test(await originNow(''))) await moment()
  const slow = lines.filter(({ message }) => message === 'a request was slow')
  t.ok(slow.every(({ fields }) => Number(fields['tookMs']) - Number(fields['etcdMs']) >= slowMs))
})

t.test('only so many slow requests are logged', t => {
  const { logger, lines } = recorder()
  const clock = new FakeClock()
  const slow = new SlowRequests(clock, logger)
  const contextOf = (source: string): RequestContext =>
    ({
      facts: { verb: 'list', group: '', resource: 'pods', source },
      reply: { auditId: 'x' },
      request: { headers: {}, socketMs: 1500 },
      reviewMs: 100,
      etcdMs: 200,
      turnMs: 300,
    }) as unknown as RequestContext
  const context = contextOf('mirror')
  slow.ended(contextOf('upstream'), 200, 5_000)
  t.strictSame(lines, [])
  for (let i = 0; i < 100; i++) slow.ended(context, 200, 2_500)
  t.equal(lines.length, 60)
  t.match(lines[0]?.fields, { tookMs: 2500, encodeMs: 400, socketMs: 1500, turnMs: 300 })
  void clock.advance(60_000).then(() => {
    slow.ended(context, 200, 2_500)
    t.match(lines[60], { message: /^more requests were slow/, fields: { count: 40 } })
    t.equal(lines.length, 62)
    t.end()
  })
})

t.test('the slowest of the last ten minutes are kept for the page, without a name', async t => {
  const clock = new FakeClock()
  const slow = new SlowRequests(clock, recorder().logger)
  const context = {
    facts: { verb: 'list', group: '', resource: 'pods', source: 'mirror' },
    reply: { auditId: 'x' },
    request: { headers: { 'user-agent': 'u' } },
    reviewMs: 0,
    etcdMs: 200,
    turnMs: 0,
  } as unknown as RequestContext
  for (let i = 1; i <= 60; i++) slow.ended(context, 200, 1_000 + i)
  const took = slow.kept.map(({ tookMs }) => tookMs)
  t.equal(took.length, 50)
  t.strictSame([Math.min(...took), Math.max(...took)], [1_011, 1_060])
  t.strictSame(slow.kept.at(-1), {
    endedAtMs: clock.wallMs(),
    verb: 'list',
    group: '',
    resource: 'pods',
    code: 200,
    tookMs: 1_060,
    reviewMs: 0,
    etcdMs: 200,
    turnMs: 0,
    encodeMs: 860,
    socketMs: 0,
  })
  await clock.advance(600_001)
  t.strictSame(slow.kept, [])
})

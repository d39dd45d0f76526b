import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sleep } from '../../../lib/base/clock.ts'
import type { LogFields } from '../../../lib/base/logger.ts'
import { OptionValues } from '../../../lib/cli/options/option-values.ts'
import { endpointOf } from '../../../lib/cli/commands/plan/tracing.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { startTracing, type Tracing } from '../../../lib/cli/commands/plan/open-telemetry.ts'
import { rbacOf } from '../../support/http/rbac.ts'
import { ask, startServed } from '../../support/http/served.ts'
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from '../../support/otlp-receiver.ts'
import { patient } from '../../support/patience.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { answeredHere, configMap, startProxied } from '../../support/upstream/proxied.ts'

/** They are optional. */
const skip = await import(String('@opentelemetry/sdk-trace-base')).then(
  () => false,
  () => 'the packages @opentelemetry are not installed: npm ci',
)

const maps = '/api/v1/namespaces/default/configmaps'
const traceId = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${parent}-01`

function start({ endpoint }: OtlpReceiver): Promise<Tracing> {
  return startTracing({ endpoint, version: '1', clock: systemClock, logger: silentLogger })
}

function value({ attributes }: ReceivedSpan, name: string): unknown {
  const found = attributes.find(({ key }) => key === name)?.value
  return found?.stringValue ?? found?.intValue
}

/** The stages of a request, in their order. They follow each other within it. */
function stagesOf(t: Test, request: ReceivedSpan, all: readonly ReceivedSpan[]): ReceivedSpan[] {
  const stages = all
    .filter(({ parentSpanId }) => parentSpanId === request.spanId)
    .toSorted((a, b) => Number(BigInt(a.endTimeUnixNano) - BigInt(b.endTimeUnixNano)))
  let atNano = BigInt(request.startTimeUnixNano)
  for (const stage of stages) {
    t.equal(stage.traceId, request.traceId)
    t.equal(BigInt(stage.startTimeUnixNano), atNano, `${stage.name} begins where the last ended`)
    atNano = BigInt(stage.endTimeUnixNano)
  }
  t.equal(atNano, BigInt(request.endTimeUnixNano), 'the last one ends with it')
  return stages
}

t.test(
  'a request is a span with a span for each stage, in the trace of its client',
  { skip },
  async t => {
    const receiver = await startOtlpReceiver(t)
    const tracing = await start(receiver)
    const { service } = await startServed(t, {
      isWritable: true,
      basics: { rootAuthority: 'none' },
      access: rbacOf('admin,root,,system:masters'),
      tracer: tracing.tracer,
    })
    await service.ready
    const headers = { authorization: 'Bearer admin' }
    const get = (path: string, more: object = {}) =>
      ask(service.port, { path, headers: { ...headers, ...more } })
    t.equal((await get(maps, { traceparent })).status, 200)
    t.equal((await get(`${maps}/secret-name`)).status, 404)
    const unrecorded = `00-${traceId.replace('0', '1')}-${parent}-00`
    t.equal((await get(maps, { traceparent: unrecorded })).status, 200)
    const body = JSON.stringify(configMap('a', '1'))
    const json = { ...headers, 'content-type': 'application/json' }
    const made = await ask(service.port, { method: 'POST', path: maps, headers: json, body })
    t.equal(made.status, 201)
    t.equal((await get('/api/v1/pods', { traceparent: 'x'.repeat(5000) })).status, 200)
    await tracing.stop()

    t.strictSame([...new Set(receiver.paths)], ['POST /v1/traces'])
    t.strictSame([...new Set(receiver.services)], ['watchglass'])
    const requests = receiver.spans.filter(span => value(span, 'watchglass.source') !== undefined)
    t.strictSame(
      requests.map(({ name }) => name),
      ['list configmaps', 'get configmaps', 'create configmaps', 'list pods'],
      'a client that does not record its trace is not recorded',
    )
    const [list, missing, create, odd] = requests
    t.equal(list?.traceId, traceId)
    t.equal(list?.parentSpanId, parent)
    t.strictSame(
      stagesOf(t, list!, receiver.spans).map(({ name }) => name),
      ['parse', 'authorize', 'freshness', 'walk', 'write'],
    )
    t.equal(value(list!, 'http.response.status_code'), 200)
    t.equal(value(list!, 'watchglass.source'), 'mirror')
    t.equal(value(missing!, 'http.response.status_code'), 404)
    t.strictSame(
      stagesOf(t, create!, receiver.spans).map(({ name }) => name),
      ['parse', 'authorize', 'store', 'write'],
    )
    t.not(odd?.traceId, traceId)
    t.notOk(odd?.parentSpanId, 'what is no trace begins one')
    t.notMatch(JSON.stringify(receiver.spans), 'secret-name', 'no name is in a span')
  },
)

t.test('what passes goes on with the trace to the upstream', { skip }, async t => {
  const receiver = await startOtlpReceiver(t)
  const tracing = await start(receiver)
  const objects = [[maps, configMap('a', '1')]] as const
  const proxied = await startProxied(t, { objects, service: { tracer: tracing.tracer } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const body = JSON.stringify(configMap('b', '2'))
  await ask(proxied.port, { method: 'POST', path: maps, headers: { traceparent }, body })
  await tracing.stop()
  const request = receiver.spans.find(span => span.parentSpanId === parent)
  const stages = stagesOf(t, request!, receiver.spans)
  t.strictSame(
    stages.map(({ name }) => name),
    ['parse', 'pass', 'write'],
  )
  const passed = proxied.upstream.seen.findLast(({ method }) => method === 'POST')
  t.equal(passed?.headers['traceparent'], `00-${traceId}-${stages[1]?.spanId}-01`)
})

t.test('a collector that refuses costs nothing but a warning', { skip }, async t => {
  const receiver = await startOtlpReceiver(t)
  const warnings: string[] = []
  const warn = (message: string, fields: LogFields = {}): void =>
    void warnings.push(`${message}: ${String(fields['problem'])}`)
  const endpoint = new URL('/nowhere', receiver.endpoint)
  const logger = { ...silentLogger, warn }
  const tracing = await startTracing({ endpoint, version: '1', clock: systemClock, logger })
  const { service } = await startServed(t, { tracer: tracing.tracer })
  t.equal((await ask(service.port, { path: '/api/v1/pods' })).status, 200)
  await tracing.stop()
  t.strictSame(receiver.paths, ['POST /nowhere'])
  t.ok(warnings.length > 0)
  t.match(warnings[0], /^traces: .*404|Not Found/)
})

t.test('a collector that answers byte by byte holds up no end', { skip }, async t => {
  const sockets = new Set<Socket>()
  const collector = createServer(socket => {
    sockets.add(socket.on('error', () => undefined).resume())
    socket.write('HTTP/1.1 200 OK\r\n')
  })
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write('X-A: b\r\n')
  }, 200)
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  t.teardown(() => {
    clearInterval(drip)
    for (const socket of sockets) socket.destroy()
    collector.close()
  })
  const { port } = collector.address() as AddressInfo
  const endpoint = new URL(`http://127.0.0.1:${port}`)
  const logger = silentLogger
  const tracing = await startTracing({ endpoint, version: '1', clock: systemClock, logger })
  const { service } = await startServed(t, { tracer: tracing.tracer })
  t.equal((await ask(service.port, { path: '/api/v1/pods' })).status, 200)
  // The packages' own limit is 30 s.
  const ended = new AbortController()
  const late = sleep(systemClock, patient(15_000), ended.signal).then(() => 'late')
  t.equal(await Promise.race([tracing.stop(), late]), undefined)
  ended.abort()
})

t.test('packages that are missing are named, with the command that installs them', async t => {
  const endpoint = new URL('http://127.0.0.1:4318')
  const options = { endpoint, version: '1', clock: systemClock, logger: silentLogger }
  const missing = (name: string): Promise<unknown> => import(`${name}-of-nobody`)
  await t.rejects(startTracing(options, missing), {
    code: 'invalid_request',
    message:
      /^--otlp-endpoint needs packages .* @opentelemetry\/api is not installed: npm install @opentelemetry\/api /,
  })
})

t.test('the single executable file says that it has no packages to load', async t => {
  const endpoint = new URL('http://127.0.0.1:4318')
  const options = { endpoint, version: '1', clock: systemClock, logger: silentLogger }
  // The answer of Node's single executable applications to an import of what is not built in.
  const missing = (): Promise<unknown> => import(String('node:of-nobody'))
  const message = /@opentelemetry\/api is not in this executable file, .* use the package of npm/
  await t.rejects(startTracing(options, missing), { code: 'invalid_request', message })
  const broken = (): Promise<unknown> => Promise.reject(new Error('broken'))
  await t.rejects(startTracing(options, broken), { message: 'broken' })
})

t.test('an endpoint is an address of http', t => {
  const of = (text: string): string | undefined =>
    endpointOf(new OptionValues(new Map([['otlp-endpoint', [text]]])))?.href
  t.equal(of('http://127.0.0.1:4318'), 'http://127.0.0.1:4318/')
  t.throws(() => of('127.0.0.1:4318'), {
    message: /^--otlp-endpoint is the address of a collector/,
  })
  t.throws(() => of('ftp://a'), { code: 'invalid_request' })
  t.end()
})

import { silentLogger } from '../../support/silent-logger.ts'
import t from 'tap'
import { type Logger } from '../../../lib/base/logger.ts'
import { firstDifference } from '../../../lib/proxy/evidence/difference.ts'
import { createTokenEncryption } from '../../../lib/cli/commands/plan/token-encryption.ts'
import { ask } from '../../support/http/served.ts'
import {
  answeredHere,
  configMap,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'
import { moment } from '../../support/http/moment.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const objects = [
  [maps, configMap('a', 'planted-1')],
  [maps, configMap('b', 'planted-2')],
] as const
const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const

/** The number of comparisons by outcome. */
async function counts({ service }: Proxied): Promise<Record<string, number>> {
  const { body } = await ask(service.adminPort, { path: '/metrics' })
  const found = body
    .toString()
    .matchAll(/^watchglass_compared_reads_total\{outcome="(\w+)"\} (\d+)$/gm)
  const all = [...found].map(([, name = '', count]) => [name, Number(count)] as const)
  return Object.fromEntries(all.filter(([, count]) => count > 0))
}

/** Asks, and waits until that was compared. */
async function compared(proxied: Proxied, path: string, accept?: string): Promise<void> {
  const total = (all: Record<string, number>): number =>
    Object.values(all).reduce((sum, one) => sum + one, 0)
  const before = total(await counts(proxied))
  const answer = await proxied.get(path, accept === undefined ? {} : { accept })
  t.match(originOf(answer), /^mirror/)
  while (total(await counts(proxied)) === before) await moment()
}

t.test('a share of reads is compared with the upstream', async t => {
  const proxied = await startProxied(t, { objects, compareShare: 1, service: { adminListen } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  await compared(proxied, maps)
  await compared(proxied, `${maps}?limit=1`)
  await compared(proxied, `${maps}?resourceVersion=0&labelSelector=a%3Db`)
  await compared(proxied, maps, 'application/vnd.kubernetes.protobuf')
  await compared(proxied, `${maps}/a`)
  t.strictSame(await counts(proxied), { same: 5 })
  const exact = proxied.upstream.seen.filter(
    ({ url }) => url.startsWith(maps) && url.includes('resourceVersionMatch=Exact'),
  )
  t.equal(exact.length, 4, 'lists are asked for exactly')
})

t.test('differences are counted, and logged without what is in objects', async t => {
  const logged: string[] = []
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => logged.push(JSON.stringify([message, fields])),
  }
  const service = { adminListen, logger }
  const proxied = await startProxied(t, { objects, compareShare: 1, service })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const { body } = await ask(proxied.upstream.port, { path: maps })
  const other = body.toString().replace('planted-1', 'planted-3')
  proxied.upstream.fault = ({ url }) =>
    url.startsWith(`${maps}?resource`)
      ? { type: 'answer', answer: { code: 200, body: other } }
      : undefined
  await compared(proxied, maps)
  const { differs } = await counts(proxied)
  t.equal(differs, 1)
  t.equal(logged.length, 1)
  t.match(logged[0], /"resource":"configmaps"/)
  t.notMatch(logged.join(), /planted/)
})

t.test('encrypted tokens make no difference', async t => {
  const encryption = createTokenEncryption(Buffer.alloc(32, 7).toString('base64'))
  const service = { adminListen, tokenEncryption: encryption }
  const proxied = await startProxied(t, { objects, compareShare: 1, service })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  await compared(proxied, `${maps}?limit=1`)
  t.strictSame(await counts(proxied), { same: 1 })
})

t.test('Tables, watches and what passes are not compared', async t => {
  const proxied = await startProxied(t, { objects, compareShare: 1, service: { adminListen } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  await proxied.get(maps, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
  await proxied.get(`${maps}?x=y`)
  await proxied.get(`${maps}/nope`)
  await compared(proxied, maps)
  t.strictSame(await counts(proxied), { same: 1 })
})

t.test('the first difference is told by its place', async t => {
  const at = (a: unknown, b: unknown): string | undefined =>
    firstDifference(Buffer.from(JSON.stringify(a)), Buffer.from(JSON.stringify(b)))
  t.equal(at({ a: 1 }, { a: 1 }), undefined)
  t.equal(at({ a: 1, b: [1, { c: 2 }] }, { a: 1, b: [1, { c: 3 }] }), '.b[1].c')
  t.equal(at({ a: 1 }, {}), '.a')
  t.equal(at({ a: [] }, { a: {} }), '.a')
  t.equal(at([1], [1, 2]), '[1]')
  t.equal(at(1, 2), '.')
  t.equal(at({ data: { password: 'x' } }, { data: { password: 'y' } }), '.data.*')
  t.equal(firstDifference(Buffer.from('{"a": 1}'), Buffer.from('{"a":1}')), 'the layout')
  t.equal(firstDifference(Buffer.from('k8s\0ab'), Buffer.from('k8s\0ac')), 'byte 5')
  t.equal(firstDifference(Buffer.from('ab'), Buffer.from('a')), 'byte 1')
})

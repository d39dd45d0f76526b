/** An upstream, or an aggregated server, that means harm: endless bodies, answers that drip, and
 *  documents that are not what they should be. Nothing of it ends the process, or is kept. */

import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import type { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { moment } from '../support/http/moment.ts'
import { ask } from '../support/http/served.ts'
import { startFront } from '../support/upstream/proxied.ts'

const group = 'hostile.example.com'
const list = `/apis/${group}/v1/things`
const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
const mebibyte = 1024 * 1024

type Answer = (response: http.ServerResponse, path: string) => void

interface Hostile {
  readonly service: KubeService
  /** Paths that were asked for, by how often. */
  readonly asked: Map<string, number>
  /** Bytes that were taken of the longest answer. */
  readonly taken: () => number
}

/** `answers` by the path without its query; everything else is discovery of one resource. */
async function startHostile(t: Test, answers: Record<string, Answer>): Promise<Hostile> {
  const asked = new Map<string, number>()
  let taken = 0
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    asked.set(pathname, (asked.get(pathname) ?? 0) + 1)
    response.on('error', () => {})
    response.on('close', () => {
      taken = Math.max(taken, response.socket?.bytesWritten ?? taken)
    })
    const answer = answers[pathname]
    if (answer !== undefined) answer(response, pathname)
    else sayTruth(response, pathname)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = await startFront(
    client,
    { url },
    { discoversResources: true, timeouts: { callMs: 500 }, service: { adminListen } },
  )
  t.teardown(async () => {
    await service.stop()
    engine.close()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { service, asked, taken: () => taken }
}

function json(response: http.ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sayTruth(response: http.ServerResponse, path: string): void {
  const verbs = ['get', 'list', 'watch']
  const resource = { name: 'things', kind: 'Thing', singularName: 'thing', namespaced: true, verbs }
  const versions = [{ groupVersion: `${group}/v1`, version: 'v1' }]
  const documents: Record<string, unknown> = {
    '/apis': { kind: 'APIGroupList', groups: [{ name: group, versions }] },
    [`/apis/${group}/v1`]: { kind: 'APIResourceList', resources: [resource] },
    '/readyz': 'ok',
    '/openapi/v3': { paths: {} },
  }
  const document = documents[path]
  if (document !== undefined) json(response, document)
  else response.writeHead(404).end()
}

/** Says JSON until nobody listens. */
const endless: Answer = response => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const piece = Buffer.alloc(64 * 1024, '[')
  const write = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', write)
  write()
}

/** Says a space every few milliseconds, for ever. */
const dripping: Answer = response => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

const saying =
  (body: string): Answer =>
  response =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)

/** Its own listener is answered without the upstream. */
async function isAlive({ service }: Hostile): Promise<boolean> {
  return (await ask(service.adminPort, { path: '/livez' })).status === 200
}

/** Resolves when the path was asked for so often. */
async function askedFor({ asked }: Hostile, path: string, times = 1): Promise<void> {
  while ((asked.get(path) ?? 0) < times) await moment()
}

for (const [what, answer] of [
  ['endless', endless],
  ['dripping', dripping],
] as const) {
  for (const path of ['/apis', `/apis/${group}/v1`, '/openapi/v3', list]) {
    t.test(`${path} is ${what}`, async t => {
      const hostile = await startHostile(t, { [path]: answer })
      await askedFor(hostile, path)
      // It is given up by then: something else, or the same, is asked.
      await askedFor(hostile, '/apis', path === '/apis' ? 2 : 1)
      t.ok(await isAlive(hostile))
      while (hostile.taken() === 0) await moment()
      t.ok(hostile.taken() < 40 * mebibyte, 'no more was taken than a document may have')
    })
  }
}

const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
const long = 'x'.repeat(100_000)
const odd: readonly string[] = [
  'null',
  '0',
  '"text"',
  '[]',
  '',
  '<html>',
  '{"kind":',
  deep,
  '{"kind":"APIGroupList","groups":"none"}',
  '{"kind":"APIGroupList","groups":[null,1,[],{"name":7,"versions":{}},{"versions":[null]}]}',
  `{"kind":"APIResourceList","resources":[null,{"name":{},"verbs":"get"},${deep}]}`,
  `{"kind":"APIGroupDiscoveryList","items":[null,{"versions":[{"resources":[${deep}]}]}]}`,
  '{"paths":[1,2,3]}',
  `{"paths":{"apis/${group}/v1":${deep}}}`,
  '{"paths":{"__proto__":{"serverRelativeURL":"x"}}}',
  `{"kind":"ThingList","metadata":{"resourceVersion":"${long}"},"items":[${deep}]}`,
  '{"kind":"ThingList","metadata":{"resourceVersion":"9999999999999999999"},"items":[null,1]}',
  '{"kind":"ThingList","metadata":{"resourceVersion":"1","remainingItemCount":-5},"items":[{}]}',
]

for (const [i, document] of odd.entries()) {
  t.test(`odd document ${i} instead of every one`, async t => {
    const answers = Object.fromEntries(
      ['/apis', `/apis/${group}/v1`, '/openapi/v3', '/version', list].map(path => [
        path,
        saying(document),
      ]),
    )
    const { [list]: last, ...others } = answers
    for (const some of [answers, others, { [list]: last! }]) {
      const hostile = await startHostile(t, some)
      await askedFor(hostile, '/apis')
      await askedFor(hostile, '/readyz')
      t.ok(await isAlive(hostile))
      const { headers } = await ask(hostile.service.port, { path: list })
      t.match(headers['x-watchglass'], /^pass/, 'nothing of it is answered here')
    }
  })
}

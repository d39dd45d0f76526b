/** Clients that ask for large objects and read nothing of them: what is made for them is an object
 *  at a time, counts as their user's, and their places in lines go to others. */

import t from 'tap'
import type { Resource } from '../../lib/kube/resources/resource.ts'
import { defaultFairnessLimits, Fairness } from '../../lib/cache/http/limits/fairness.ts'
import { HeldBytes, takeTurn } from '../../lib/cache/http/limits/fair-share.ts'
import { sendPieces } from '../../lib/cache/http/server/respond.ts'
import { Outbox } from '../../lib/cache/http/watch/outbox.ts'
import type { WatchFraming } from '../../lib/cache/http/watch/watch-framing.ts'
import { WatchResponse } from '../../lib/cache/http/watch/watch-response.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { head, raw } from '../support/http/raw-http.ts'
import { ScriptedRequest } from '../support/http/scripted-request.ts'
import { startServed } from '../support/http/served.ts'
import { large, putBytes } from '../support/watch/watch-served.ts'

const objects = 14
const objectBytes = 600_000
const protobuf = 'Accept: application/vnd.kubernetes.protobuf'
const table = 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io'

/** Sizes of the chunks that an answer over HTTP/1.1 comes in. */
function chunksOf(answer: string): number[] {
  const sizes: number[] = []
  let at = answer.indexOf('\r\n\r\n') + 4
  while (at < answer.length) {
    const end = answer.indexOf('\r\n', at)
    const size = Number.parseInt(answer.slice(at, end), 16)
    if (!(size > 0)) break
    sizes.push(size)
    at = end + 2 + size + 2
  }
  return sizes
}

t.test('large objects are made one by one', async t => {
  const served = await startServed(t)
  for (let i = 0; i < objects; i++) {
    await putBytes(served, `/registry/configmaps/a/large-${i}`, large(objectBytes))
  }
  const some = 'labelSelector=a!%3Db'
  const watch = '/api/v1/configmaps?watch=true&timeoutSeconds=1'
  const initial = `${watch}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`
  const asked: [path: string, ...headers: string[]][] = [
    [watch],
    [`${watch}&${some}`],
    [initial],
    [`${initial}&${some}`],
    ['/api/v1/configmaps'],
    [`/api/v1/configmaps?${some}`],
    ['/api/v1/configmaps', protobuf],
    ['/api/v1/configmaps?includeObject=Object', table],
  ]
  for (const [path, ...headers] of asked) {
    const answer = await raw(
      served.service.port,
      head(`GET ${path}`, ...headers, 'Connection: close'),
    )
    const sizes = chunksOf(answer)
    const all = sizes.reduce((sum, size) => sum + size, 0)
    t.ok(all > objects * objectBytes, `${path} is answered`)
    t.ok(Math.max(...sizes) < 1.5 * objectBytes, `${path}: ${sizes.join(' ')}`)
  }
})

const metrics = { limited: () => {} }

function createWatch(
  fairness: Fairness,
  clock: FakeClock,
): { request: ScriptedRequest; watch: WatchResponse } {
  const request = new ScriptedRequest('GET', '2')
  const framing = { first: (frame: Uint8Array) => frame, resource: {} as Resource }
  const watch = new WatchResponse(request, framing as unknown as WatchFraming, {
    outbox: new Outbox(clock),
    held: new HeldBytes(fairness, 'user'),
  })
  return { request, watch }
}

t.test('frames that a client does not take count as its user’s, who holds no more', async t => {
  const clock = new FakeClock()
  const limits = { ...defaultFairnessLimits, bytesPerUser: 5_000_000 }
  const fairness = new Fairness({ clock, metrics, limits })
  const watches = Array.from({ length: 20 }, () => createWatch(fairness, clock))
  const frame = new Uint8Array(objectBytes)
  for (const { request, watch } of watches) {
    request.isFull = true
    watch.write(frame)
    await clock.advance(100)
    watch.write(frame)
  }
  await settle()
  const open = watches.filter(({ watch }) => watch.isOpen)
  t.equal(open.length, 4, 'each holds a frame in its socket and one behind it')
  t.ok(watches.every(({ request, watch }) => watch.isOpen || request.isAborted))
  t.throws(() => fairness.hold('user', objectBytes, 'list'), { code: 'overloaded' })
  for (const { request } of open) request.drain()
  await clock.advance(1_000)
  t.ok(open.every(({ watch }) => watch.isOpen))
  fairness.hold('user', 4_900_000, 'list')()
  t.pass('what they have taken is free again')
})

t.test('a client that takes nothing has no place in the line of others', async t => {
  const clock = new FakeClock()
  const fairness = new Fairness({ clock, metrics })
  const none = { isEmpty: true, requirements: [] }
  const plan = { type: 'list', limit: 0, labels: none, fields: none, resource: {} }
  const snapshot = { count: () => 5_000 }
  const signal = new AbortController().signal
  let written = 0
  const list = async (request: ScriptedRequest): Promise<string> => {
    const shared = { grant: { user: () => 'user', learnName: () => {} }, request, signal }
    const turn = await takeTurn(shared, { fairness, clock }, { plan, snapshot } as never)
    try {
      const pieces = Array.from({ length: 3 }, () => new Uint8Array(100_000))
      const response = { status: 200, headers: {} }
      return await sendPieces(request, response, pieces, turn.pace)
    } finally {
      written++
      turn.end()
    }
  }
  const mute = Array.from({ length: 100 }, () => new ScriptedRequest())
  for (const request of mute) request.isFull = true
  const outcomes = mute.map(list)
  const reading = list(new ScriptedRequest())
  const startMs = clock.monotonicMs()
  while (written === 0 && clock.monotonicMs() < startMs + 60_000) await clock.advance(50)
  t.ok(clock.monotonicMs() - startMs < 4_000, 'it waits for seconds, not for minutes')
  t.equal(await reading, 'sent')
  for (const request of mute) request.drain()
  for (let i = 0; i < 200 && written < 101; i++) await clock.advance(10)
  t.strictSame(
    new Set(await Promise.all(outcomes)),
    new Set(['sent']),
    'they go on where they were',
  )
})

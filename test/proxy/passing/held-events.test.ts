/** Events that cannot be shown from the mirror, or not in time: their watches get the bytes of the
 *  upstream and go on, as its own watches do. */

import * as http from 'node:http'
import t, { type Test } from 'tap'
import { HeldEvents } from '../../../lib/proxy/passing/held-events.ts'
import type { HeldEvent } from '../../../lib/cache/http/request/upstream-side.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ask } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { entryAt } from '../../support/store/store-builders.ts'
import { type Lying, startLying, until } from '../../support/upstream/lying.ts'
import { answeredHere, created } from '../../support/upstream/proxied.ts'

const maps = '/api/v1/namespaces/default/configmaps'

function configMap(name: string, more: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: '1' }, ...more }
}

interface Watched {
  readonly origin: string
  /** All that has come. */
  text(): string
  isOver(): boolean
  /** Resolves when the text matches, or the answer is over. */
  saw(pattern: RegExp): Promise<void>
}

function watched(t: Test, port: number, accept = 'application/json', more = ''): Promise<Watched> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: `${maps}?watch=1${more}`, headers: { accept } }
    const request = http.get(options, answer => {
      let text = ''
      let isOver = false
      answer.on('data', (piece: Buffer) => (text += piece.toString('latin1')))
      answer.on('close', () => (isOver = true))
      answer.on('error', () => {})
      const saw = async (pattern: RegExp): Promise<void> => {
        while (!pattern.test(text) && !isOver) await moment()
      }
      const origin = String(answer.headers['x-watchglass'])
      resolve({ origin, text: () => text, isOver: () => isOver, saw })
    })
    request.on('error', reject)
    t.teardown(() => request.destroy())
  })
}

/** The upstream answers no comparison of single objects from now on. */
function refuseComparisons({ upstream }: Lying): void {
  const { before } = upstream
  upstream.before = (request, body) =>
    request.url.includes('fieldSelector') && request.url.includes('Exact')
      ? { code: 503, body: '{}' }
      : before?.(request, body)
}

const forms = [
  'application/json',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
]

t.test('an event that is not compared in time comes in the bytes of the upstream', async t => {
  const lying = await startLying(t, [[maps, configMap('a')]], body => body)
  await answeredHere(lying, '', 'v1', 'configmaps')
  const watches = await Promise.all(
    forms.flatMap(form => [lying.port, lying.upstream.port].map(port => watched(t, port, form))),
  )
  for (const one of watches) await one.saw(/default/)
  refuseComparisons(lying)
  // A row that no object had before.
  const labelled = { metadata: { name: 'b', labels: { l: 'v' }, annotations: { a: 'v' } } }
  await created(lying.upstream.port, maps, configMap('b', { immutable: true, ...labelled }))
  await created(lying.upstream.port, maps, configMap('last-of-all'))
  for (const one of watches) await one.saw(/last-of-all/)
  for (let i = 0; i < watches.length; i += 2) {
    const [ours, theirs] = [watches[i], watches[i + 1]]
    t.match(ours?.origin, /^mirror/)
    t.notOk(ours?.isOver(), `${forms[i / 2]}: it goes on`)
    const [a, b] = [ours, theirs].map(one => one?.text().split('last-of-all')[0])
    // Ages are of the moment.
    const [x, y] = [a, b].map(text => text?.replaceAll(/"\d+s"/g, '"age"'))
    t.equal(x, y, String(forms[i / 2]))
  }
  t.match(
    lying.upstream.seen.findLast(({ url }) => url.includes('timeoutSeconds=5'))?.url,
    /\?watch=true&resourceVersion=\d+&timeoutSeconds=5&fieldSelector=metadata.name%3Db/,
  )
})

t.test('an object that is no longer selected is told of in the bytes of the upstream', async t => {
  const lying = await startLying(t, [[maps, configMap('a')]], body => body)
  await answeredHere(lying, '', 'v1', 'configmaps')
  const only = '&labelSelector=l%3Dv'
  const both = await Promise.all(
    [lying.port, lying.upstream.port].map(port => watched(t, port, forms[0], only)),
  )
  refuseComparisons(lying)
  const named = { name: 'b', labels: { l: 'v' } }
  await created(lying.upstream.port, maps, configMap('b', { immutable: true, metadata: named }))
  for (const one of both) await one.saw(/ADDED/)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = JSON.stringify({ metadata: { labels: { l: 'w' } } })
  await ask(lying.upstream.port, { method: 'PATCH', path: `${maps}/b`, headers, body })
  for (const one of both) await one.saw(/DELETED.*\n/)
  t.match(both[0]?.origin, /^mirror/)
  t.match(both[0]?.text(), /ADDED.*\n.*DELETED/)
  t.equal(both[0]?.text(), both[1]?.text())
  const asked = lying.upstream.seen.filter(({ url }) => url.includes('timeoutSeconds=5'))
  t.ok(asked.length <= 2)
  t.match(asked[0]?.url, /fieldSelector=metadata.name%3Db$/, 'one event for all that select')
  t.match(asked.at(-1)?.url, /labelSelector=l%3Dv/)
})

t.test('a watch goes on when the upstream is another one: it takes the new evidence', async t => {
  const lying = await startLying(t, [[maps, configMap('a')]], body => body)
  await answeredHere(lying, '', 'v1', 'configmaps')
  const ours = await watched(t, lying.port)
  await ours.saw(/"name":"a"/)
  lying.lie = (body, { url }) =>
    url === '/openapi/v3' ? body.replaceAll('hash=', 'hash=another') : body
  const asked = lying.upstream.seen.length
  lying.service.knowledge?.upstreamIsBack()
  const isCompared = (): boolean =>
    lying.upstream.seen.slice(asked).some(({ url }) => url.includes('configmaps?resourceVersion='))
  while (!isCompared()) await moment()
  await created(lying.upstream.port, maps, configMap('b'))
  await ours.saw(/"name":"b"/)
  t.match(ours.text(), /"name":"b"/)
  t.notOk(ours.isOver())
})

t.test('a difference sends events in the bytes of the upstream', async t => {
  const lie = (body: string): string => body.replaceAll('"immutable":true', '"immutable":false')
  const lying = await startLying(t, [[maps, configMap('a')]], lie)
  await answeredHere(lying, '', 'v1', 'configmaps')
  const ours = await watched(t, lying.port)
  await created(lying.upstream.port, maps, configMap('b', { immutable: true }))
  await ours.saw(/"name":"b"/)
  await until(lying, maps, 'pass; reason=differs')
  await created(lying.upstream.port, maps, configMap('c', { immutable: true }))
  await ours.saw(/"name":"c"/)
  t.match(ours.text(), /"name":"b".*"immutable":true.*\n.*"name":"c".*"immutable":true/)
  t.notOk(ours.isOver())
})

/** Answers of an upstream that is asked for the ADDED of `b` at a revision. */
const shown: Record<string, { answer: (at: number) => string | Buffer; isTaken: boolean }> = {
  'the event': { answer: at => frame('ADDED', at), isTaken: true },
  'the event and others': {
    answer: at => `${frame('ADDED', at)}${frame('MODIFIED', at + 1)}`,
    isTaken: true,
  },
  'an event of another revision': { answer: at => frame('ADDED', at + 1), isTaken: false },
  'an event of another type': { answer: at => frame('MODIFIED', at), isTaken: false },
  'the revision elsewhere': {
    answer: at =>
      frame('ADDED', at + 1).replace('"planted":', `"resourceVersion":"${at}","planted":`),
    isTaken: false,
  },
  'an error': {
    answer: () => '{"type":"ERROR","object":{"kind":"Status","code":410}}\n',
    isTaken: false,
  },
  'an event that is cut off': { answer: at => frame('ADDED', at).slice(0, -1), isTaken: false },
  'a line without an end': { answer: () => Buffer.alloc(9 * 1024 * 1024, 'x'), isTaken: false },
  'no JSON': { answer: () => 'planted\n', isTaken: false },
  nothing: { answer: () => '', isTaken: false },
}

function frame(type: string, at: number): string {
  const metadata = `{"name":"b","namespace":"default","resourceVersion":"${at}"}`
  const object = `{"kind":"ConfigMap","apiVersion":"v1","metadata":${metadata},"data":{"planted":"x"}}`
  return `{"type":"${type}","object":${object}}\n`
}

for (const [what, { answer, isTaken }] of Object.entries(shown)) {
  t.test(
    `an upstream that sends ${what}: ${isTaken ? 'it is sent' : 'the watch ends'}`,
    async t => {
      const lying = await startLying(t, [[maps, configMap('a')]], body => body)
      await answeredHere(lying, '', 'v1', 'configmaps')
      const ours = await watched(t, lying.port)
      await ours.saw(/"name":"a"/)
      refuseComparisons(lying)
      const { before } = lying.upstream
      lying.upstream.before = (request, body) => {
        const [, after] = /watch=true&resourceVersion=(\d+)/.exec(request.url) ?? []
        if (after === undefined) return before?.(request, body)
        const headers = { 'content-type': 'application/json' }
        return { code: 200, headers, body: answer(Number(after) + 1) }
      }
      await created(lying.upstream.port, maps, configMap('b', { immutable: true }))
      await ours.saw(/planted/)
      t.equal(/planted/.test(ours.text()), isTaken)
      t.equal(ours.isOver(), !isTaken)
      t.notMatch(ours.text(), /immutable/, 'nothing is shown that was not compared')
    },
  )
}

const keyspace = keyFromText('/registry/widgets/')

function heldEvent(type: 'MODIFIED' | 'DELETED', entry: KeyValue, isProvable = true): HeldEvent {
  const { key } = entry
  const event = { key, before: entry, after: type === 'DELETED' ? undefined : entry }
  const told = { type, entry, revision: entry.modRevision }
  const resource = { resource: 'widgets', group: 'example.com' }
  return { keyspace, event, told, resource, shownAs: type, isProvable } as unknown as HeldEvent
}

/** Held events, and what was done about them. */
interface Holding {
  readonly held: HeldEvents
  readonly clock: FakeClock
  readonly asked: HeldEvent[]
  readonly resumed: string[]
}

function holding(answer: (event: HeldEvent) => Promise<Uint8Array | string>): Holding {
  const clock = new FakeClock()
  const asked: HeldEvent[] = []
  const resumed: string[] = []
  const held = new HeldEvents({
    clock,
    logger: silentLogger,
    resume: resumedKeyspace => resumed.push(resumedKeyspace),
    ask: event => {
      asked.push(event)
      return answer(event)
    },
  })
  return { held, clock, asked, resumed }
}

/** As many deletions of one revision. */
function transaction(count: number, isProvable = false): readonly HeldEvent[] {
  const names = Array.from({ length: count }, (_, i) => `/registry/widgets/default/w${i}`)
  return names.map(name => heldEvent('DELETED', entryAt(name, 5), isProvable))
}

t.test('each event of an object has its own time, whatever became of others', async t => {
  const { held, clock, asked, resumed } = holding(async event =>
    event.isProvable ? 'it does not answer' : Buffer.from('theirs'),
  )
  const entry = entryAt('/registry/widgets/default/w', 5)
  const [modified, deleted] = [heldEvent('MODIFIED', entry), heldEvent('DELETED', entry)]
  t.equal(held.frameOf(modified), 'later')
  t.equal(asked.length, 0, 'a comparison may be faster')
  await clock.advance(500)
  t.strictSame(resumed, [keyspace])
  t.equal(held.frameOf(modified), 'later')
  t.equal(asked.length, 1)
  await Promise.resolve()
  await Promise.resolve()
  t.equal(held.frameOf(modified), 'inexact')
  await clock.advance(3_500)
  t.equal(held.frameOf(deleted), 'later', 'the other event of the same entry waits')
  const inexact = heldEvent('DELETED', entry, false)
  t.equal(held.frameOf(inexact), 'later')
  t.equal(asked.length, 2, 'no comparison helps')
  await Promise.resolve()
  await Promise.resolve()
  t.strictSame(held.frameOf(inexact), Buffer.from('theirs'))
  await clock.advance(10_000)
  t.equal(held.frameOf(modified), 'later', 'nothing is remembered for longer')
})

t.test('events that there is no room for wait for it: no watch ends for their number', async t => {
  const answers: ((frame: Uint8Array) => void)[] = []
  const { held, clock, asked, resumed } = holding(
    () => new Promise(resolve => answers.push(resolve)),
  )
  const events = transaction(10_001)
  t.ok(events.every(event => held.frameOf(event) === 'later'))
  t.equal(asked.length, 10_000)
  await clock.advance(60_000)
  t.equal(held.frameOf(events[5]!), 'later', 'a question may wait for its turn for long')
  resumed.length = 0
  t.equal(held.frameOf(events[10_000]!), 'later')
  answers[0]?.(Buffer.from('theirs'))
  await clock.advance(100)
  t.ok(resumed.includes(keyspace), 'whoever waited for room looks again')
  t.equal(held.frameOf(events[10_000]!), 'later')
  t.equal(asked.at(-1), events[10_000], 'the one that was answered has made room')
})

t.test('large events make room for those behind them, and may be asked for again', async t => {
  const { held, asked } = holding(async () => Buffer.alloc(1024 * 1024))
  const events = transaction(40)
  for (const event of events) {
    t.equal(held.frameOf(event), 'later')
    await Promise.resolve()
    await Promise.resolve()
    t.ok(held.frameOf(event) instanceof Uint8Array)
  }
  t.ok(held.frameOf(events[39 - 15]!) instanceof Uint8Array, '16 MiB are kept')
  t.equal(held.frameOf(events[0]!), 'later')
  t.equal(asked.length, 41)
})

t.test('behind an event that was not compared in time others are asked for at once', async t => {
  const { held, clock, asked } = holding(async () => Buffer.from('theirs'))
  const [first, second, third] = transaction(3, true)
  t.equal(held.frameOf(first!), 'later')
  await clock.advance(500)
  t.equal(held.frameOf(first!), 'later')
  t.equal(held.frameOf(second!), 'later')
  t.strictSame(asked, [first, second])
  held.concluded(keyspace)
  t.equal(held.frameOf(third!), 'later')
  t.equal(asked.length, 2, 'comparisons have answers again')
})

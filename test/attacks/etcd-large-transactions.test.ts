/** A transaction of very many deletes while others watch at the embedded etcd: whoever watches, and
 *  however many there are, it ends nobody and holds nobody. */

import * as http2 from 'node:http2'
import t, { type Test } from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { MessageReader } from '../../lib/etcd/http2/message-reader.ts'
import {
  type WatchCreateMessage,
  watchRequestCodec,
  watchResponseCodec,
} from '../../lib/etcd/proto/watch-messages.ts'
import type { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { KeyValue } from '../../lib/store/event.ts'
import { framed } from '../support/etcd/bare-grpc.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { watchBusy } from '../support/attacks/loop-busy.ts'
import { patience } from '../support/patience.ts'

interface Served {
  readonly engine: Engine
  readonly session: http2.ClientHttp2Session
}

/** An engine with so many keys, and a connection to it. */
async function serve(t: Test, keys: number): Promise<Served> {
  const { engine } = createTestEngine(t, { scheduler: createDirectScheduler(systemClock) })
  const at = revision(10)
  const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
  const value = { bytes: Buffer.from('v'), start: 0, end: 1 }
  const entries = Array.from(
    { length: keys },
    (_, i) => new KeyValue(keyFromText(`/k/${String(i).padStart(6, '0')}`), value, meta),
  )
  engine.loadBase(at, entries)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const session = http2.connect(`http://${server.address}`)
  t.teardown(async () => {
    session.destroy()
    await server.close()
  })
  return { engine, session }
}

/** Watches these keys on one stream; what comes goes to `take`. */
function watch(
  session: http2.ClientHttp2Session,
  keys: readonly Partial<WatchCreateMessage>[],
  take: (message: Buffer) => void,
): void {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/etcdserverpb.Watch/Watch',
    'content-type': 'application/grpc',
  })
  const reader = new MessageReader(Infinity)
  stream.on('data', (chunk: Buffer) => {
    reader.push(chunk)
    for (let next = reader.next(); typeof next === 'object'; next = reader.next()) take(next.bytes)
  })
  for (const fields of keys) {
    const value = { ...all, ...fields }
    stream.write(framed(watchRequestCodec.encode({ request: { type: 'create', value } })))
  }
}

const all: WatchCreateMessage = {
  key: keyFromText('/k/'),
  rangeEnd: keyFromText('/k0'),
  startRevision: 0,
  progressNotify: false,
  filters: [],
  previous: false,
  watchId: 0n,
  fragment: false,
}

/** Deletes all keys at one revision. */
function deleteAll({ engine }: Served): Promise<unknown> {
  const range = { key: keyFromText('/k/'), rangeEnd: keyFromText('/k0'), previous: false }
  return new Promise(resolve => engine.members[0]!.deleteRange(range, resolve))
}

t.test('200,000 deletes are told as one response', async t => {
  const served = await serve(t, 200_000)
  let wake: (message: Buffer) => void = () => {}
  const next = (): Promise<Buffer> => new Promise(resolve => (wake = resolve))
  const created = next()
  watch(served.session, [{}], message => wake(message))
  await created
  const told = next()
  t.match(await deleteAll(served), { deleted: 200_000 })
  const { events, fragment, header } = watchResponseCodec.decode(await told)
  t.equal(events.length, 200_000)
  t.notOk(fragment)
  t.equal(header?.revision, 11)
})

t.test('20,000 deletes under 5,000 watches of single keys hold nobody', async t => {
  const served = await serve(t, 20_000)
  let messages = 0
  let wake = (): void => {}
  const until = async (count: number): Promise<void> => {
    while (messages < count) await new Promise<void>(resolve => (wake = resolve))
  }
  const keys = Array.from({ length: 5000 }, (_, i) => ({
    key: keyFromText(i < 10 ? `/k/00000${i}` : `/other/${i}`),
    rangeEnd: keyFromText(''),
  }))
  watch(served.session, keys, () => {
    messages++
    wake()
  })
  await until(5000)
  const over = watchBusy()
  await Promise.all([deleteAll(served), until(5010)])
  const busy = over()
  t.comment(JSON.stringify(busy))
  t.ok(busy.longestMs <= 50 * patience(), 'it holds nobody')
})

/** The bytes that a watch call writes, which are shared between watchers, and how much waits for a
 *  client. */

import * as http2 from 'node:http2'
import t from 'tap'
import type { Key } from '../../lib/base/keys.ts'
import type { Revision } from '../../lib/base/revision.ts'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { MessageReader } from '../../lib/etcd/http2/message-reader.ts'
import { serveWatch } from '../../lib/etcd-server/watch-call.ts'
import { KeptEvent } from '../../lib/etcd-server/engine/watches/kept-event.ts'
import type { HeaderMessage } from '../../lib/etcd/proto/kv-messages.ts'
import { watchResponseCodec } from '../../lib/etcd/proto/watch-messages.ts'
import type { WatchConnection } from '../../lib/etcd-server/engine/watches/batch-source.ts'
import type { WatcherStream } from '../../lib/etcd-server/engine/watches/watcher-stream.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { watchResponse } from '../support/etcd/watch-response.ts'

interface Served {
  readonly connection: WatchConnection
  resumed: number
}

function headerOf(revision: number): HeaderMessage {
  return { clusterId: 1n, memberId: 2n, revision, raftTerm: 3n }
}

function eventOf(revision: number, keyLength = 3): KeptEvent {
  const key = 'k'.repeat(keyLength) as Key
  return new KeptEvent({
    key,
    revision: revision as Revision,
    after: undefined,
    previous: undefined,
  })
}

t.test('watch calls', async t => {
  let opened: (served: Served) => void = () => undefined
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call =>
      serveWatch(call, connection => {
        const served = { connection, resumed: 0 }
        opened(served)
        const stream = { resume: () => void served.resumed++, close: () => undefined }
        return stream as unknown as WatcherStream
      }),
  })
  const session = http2.connect(`http://${server.address}`)
  t.teardown(async () => {
    session.destroy()
    await server.close()
  })
  const open = async () => {
    const connected = new Promise<Served>(resolve => (opened = resolve))
    const headers = { ':method': 'POST', ':path': '/etcdserverpb.Watch/Watch' }
    const request = session.request({ ...headers, 'content-type': 'application/grpc' })
    return { request, served: await connected }
  }

  await t.test('watchers are told the same only where it is the same', async t => {
    const [one, other] = [await open(), await open()]
    const [first, second, large] = [eventOf(7), eventOf(7), eventOf(9, 40_000)]
    const [header, next] = [headerOf(7), headerOf(8)]
    const sent = [
      watchResponse({ header, events: [first] }),
      watchResponse({ header, events: [first] }),
      watchResponse({ header, events: [first], watchId: 5n }),
      watchResponse({ header: next, events: [first], watchId: 5n }),
      watchResponse({ header: next, events: [first], watchId: 5n, fragment: true }),
      watchResponse({ header: next, events: [first], watchId: 5n }),
      watchResponse({ header: next, events: [first, second], watchId: 5n }),
      watchResponse({ header: next, events: [first, large], watchId: 5n }),
      watchResponse({ header: next, events: [first, large], watchId: 5n }),
      watchResponse({ header, events: [second] }),
      watchResponse({ header, created: true }),
    ]
    for (const { request, served } of [one, other]) {
      const reader = new MessageReader(Infinity)
      const read: Buffer[] = []
      const all = new Promise<void>(resolve => {
        request.on('data', (chunk: Buffer) => {
          reader.push(chunk)
          for (let got = reader.next(); typeof got === 'object'; got = reader.next()) {
            read.push(got.bytes)
          }
          if (read.length === sent.length) resolve()
        })
      })
      for (const response of sent) served.connection.send(response)
      await all
      t.strictSame(
        read.map(bytes => bytes.toString('hex')),
        sent.map(response => watchResponseCodec.encode(response).toString('hex')),
      )
    }
  })

  await t.test('a burst is sent at once; a client that does not read is waited for', async t => {
    const { request, served } = await open()
    const { connection } = served
    request.pause()
    for (let i = 0; i < 6; i++) {
      const response = watchResponse({ header: headerOf(i), events: [eventOf(i, 8192)] })
      t.ok(connection.send(response), 'less than 64 KiB')
    }
    let mayGoOn = true
    let sends = 0
    for (; mayGoOn && sends < 1000; sends++) {
      mayGoOn = connection.send(watchResponse({ header: headerOf(9), events: [eventOf(9, 8192)] }))
    }
    t.notOk(mayGoOn, `still going on after ${sends} more`)
    t.equal(served.resumed, 0)
    request.resume()
    while (served.resumed === 0) await new Promise(resolve => setTimeout(resolve, 5))
  })
})

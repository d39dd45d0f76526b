/** Live views of a whole service, over each transport. */

import { createHash } from 'node:crypto'
import * as http2 from 'node:http2'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { type LiveDocument, openLive } from '../../support/http/live-lines.ts'
import { caughtUp, type Served, startServed } from '../../support/http/served.ts'

const path = '/views/api/v1/namespaces/default/configmaps?sort=name&pageSize=2&watch=1'

async function put({ client }: Served, name: string, data: object = {}): Promise<void> {
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const metadata = { name, namespace: 'default', uid: `uid-${name}` }
  const value = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

async function remove({ client }: Served, name: string): Promise<void> {
  const range = singleKey(keyFromText(`/registry/configmaps/default/${name}`))
  await client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
}

async function start(t: Test): Promise<Served> {
  const served = await startServed(t)
  for (const name of ['b', 'd', 'e']) await put(served, name)
  await caughtUp(served, 3)
  return served
}

t.test('the rows of a page enter, change and leave, and those of other pages do not', async t => {
  const served = await start(t)
  const live = await openLive(t, served.service.port, path)
  t.equal(live.status, 200)
  t.match(await live.next(), {
    type: 'PAGE',
    kind: 'View',
    total: 3,
    rows: [{ name: 'b' }, { name: 'd' }],
  })
  await put(served, 'a')
  t.match(await live.until(({ rows }) => rows !== undefined), {
    type: 'CHANGE',
    total: 4,
    matched: 4,
    left: ['uid-d'],
    rows: [{ index: 0, row: { name: 'a' } }],
  })
  await put(served, 'e', { changed: 'yes' })
  await put(served, 'b', { text: 'x' })
  t.match(await live.until(({ rows }) => rows !== undefined), {
    rows: [{ index: 1, row: { name: 'b', cells: ['b', 1] } }],
  })
  await remove(served, 'a')
  t.match(await live.until(({ left }) => left !== undefined), {
    left: ['uid-a'],
    rows: [{ index: 1, row: { name: 'd' } }],
  })
  t.equal(served.service.openWatches, 1, 'it counts as a watch')
})

t.test('counts are live, too', async t => {
  const served = await start(t)
  const counts = path.replace(/\?.*/, '?countBy=data&watch=1')
  const live = await openLive(t, served.service.port, counts)
  t.match(await live.next(), { type: 'PAGE', groups: [{ values: ['0'], count: 3 }] })
  await put(served, 'd', { a: '1' })
  t.match(await live.until(({ groups }) => groups !== undefined), {
    type: 'CHANGE',
    groups: [
      { values: ['0'], count: 2 },
      { values: ['1'], count: 1 },
    ],
  })
})

t.test('a live view over HTTP/2', async t => {
  const served = await start(t)
  const session = http2.connect(`http://127.0.0.1:${served.service.port}`)
  t.teardown(() => session.destroy())
  const stream = session.request({ ':path': path })
  let text = ''
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const had = text.includes('"type":"PAGE"')
    text += piece.toString()
    if (!had && text.includes('"type":"PAGE"')) await remove(served, 'b')
    if (text.includes('"type":"CHANGE"')) break
  }
  const [page, change] = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
  t.match(page, { type: 'PAGE', total: 3 })
  t.match(change, { type: 'CHANGE', left: ['uid-b'], rows: [{ index: 1, row: { name: 'e' } }] })
})

t.test('server-sent events', async t => {
  const served = await start(t)
  const headers = { accept: 'text/event-stream' }
  const live = await openLive(t, served.service.port, path, headers)
  t.equal(live.headers['content-type'], 'text/event-stream')
  t.match(await live.next(), { type: 'PAGE' })
  await remove(served, 'b')
  t.match(await live.until(() => true), { type: 'CHANGE', left: ['uid-b'] })
})

t.test('messages of a WebSocket', async t => {
  const served = await start(t)
  const socket = connect(served.service.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const key = Buffer.from('0123456789abcdef').toString('base64')
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Origin: http://x',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const messages = messagesOf(socket)
  const head = await messages.head
  const accepted = createHash('sha1')
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  t.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.ok(head.includes(`Sec-WebSocket-Accept: ${accepted}`))
  t.match(await messages.next(), { type: 'PAGE', rows: [{ name: 'b' }, { name: 'd' }] })
  await put(served, 'c')
  t.match(await messages.next(), { type: 'CHANGE', left: ['uid-d'] })
})

t.test('only a live view can be had over a WebSocket', async t => {
  const served = await start(t)
  const socket = connect(served.service.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const plain = path.replace('&watch=1', '')
  socket.write(
    `GET ${plain} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  )
  let text = ''
  for await (const piece of socket) {
    text += String(piece)
    if (text.includes('"code":400')) break
  }
  t.match(text, /^HTTP\/1\.1 400 /)
  t.match(text, /only a live view/)
})

t.test('a server that stops ends live views cleanly', async t => {
  const served = await start(t)
  const live = await openLive(t, served.service.port, path)
  await live.next()
  await served.service.stop()
  let last: LiveDocument | undefined
  for (let next = await live.next(); next !== undefined; next = await live.next()) last = next
  t.equal(last, undefined, 'nothing follows')
})

t.test('faults that end watches end live views', async t => {
  const rules = ['watch-end,after=1,agent=one', 'watch-expired,after=0,agent=two']
  const served = await startServed(t, { faults: { rules, seed: 1 } })
  for (const name of ['b', 'd', 'e']) await put(served, name)
  await caughtUp(served, 3)
  const open = async (agent: string): Promise<() => Promise<LiveDocument[]>> => {
    const live = await openLive(t, served.service.port, path, { 'user-agent': agent })
    t.match(await live.next(), { type: 'PAGE' })
    return async () => {
      const documents: LiveDocument[] = []
      for (let next = await live.next(); next !== undefined; next = await live.next()) {
        documents.push(next)
      }
      return documents
    }
  }
  const rests = [await open('one'), await open('two')]
  await remove(served, 'b')
  const [ended = [], expired = []] = await Promise.all(rests.map(rest => rest()))
  t.match(ended, [{ type: 'CHANGE', left: ['uid-b'] }])
  t.equal(ended.length, 1, 'cleanly, after one document')
  t.match(expired, [{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }])
  t.equal(expired.length, 1)
})

/** The head of the answer, and the text messages behind it, which are short. */
function messagesOf(socket: AsyncIterable<Buffer>): {
  readonly head: Promise<string>
  next(): Promise<LiveDocument>
} {
  let bytes = Buffer.alloc(0)
  const pieces = socket[Symbol.asyncIterator]()
  const more = async (): Promise<void> => {
    const { done, value } = await pieces.next()
    if (done === true) throw new Error('the connection has ended')
    bytes = Buffer.concat([bytes, value as Buffer])
  }
  const head = (async () => {
    while (!bytes.includes('\r\n\r\n')) await more()
    const end = bytes.indexOf('\r\n\r\n') + 4
    const text = bytes.toString('latin1', 0, end)
    bytes = bytes.subarray(end)
    return text
  })()
  return {
    head,
    async next() {
      for (;;) {
        while (bytes.length < 4) await more()
        const short = bytes[1] ?? 0
        const from = short < 126 ? 2 : 4
        const length = short < 126 ? short : bytes.readUInt16BE(2)
        while (bytes.length < from + length) await more()
        const [first = 0] = bytes
        const payload = bytes.toString('utf8', from, from + length)
        bytes = bytes.subarray(from + length)
        if (first === 0x81) return JSON.parse(payload) as LiveDocument
      }
    },
  }
}

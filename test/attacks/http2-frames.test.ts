/** Frames that no library sends: each ends its stream or its connection, and harms nobody else. */

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import t from 'tap'
import { admin, type Door, maps, startDoor } from '../support/attacks/door.ts'
import { askOn, openSession, protocols } from '../support/attacks/ask.ts'
import {
  endHeaders,
  frame,
  frameTypes,
  headerBlock,
  openRaw,
  request,
  settings,
} from '../support/attacks/raw-http2.ts'
import { calm, staysCalm, worksAtOnce } from '../support/attacks/works.ts'

type Line = readonly [string, string]
const plain: readonly Line[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', maps],
]
const known: readonly Line[] = [...plain, ['authorization', admin.authorization]]

/** Sends frames, and waits until the connection ends, or a moment. */
async function send(socket: Socket, ...frames: Buffer[]): Promise<void> {
  const ended = new Promise(resolve => socket.once('close', resolve))
  for (const one of frames) {
    if (socket.destroyed) break
    if (!socket.write(one)) await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.race([ended, new Promise(resolve => setTimeout(resolve, 300))])
  socket.destroy()
}

const oddHeaders: readonly (readonly Line[])[] = [
  [...plain, [':path', '/other']],
  [...plain, [':method', 'DELETE']],
  [...plain, [':status', '200']],
  [['x', 'y'], ...plain],
  [[':method', 'GET']],
  [],
  [...plain, ['Upper', 'case']],
  [...plain, ['connection', 'close']],
  [...plain, ['transfer-encoding', 'chunked']],
  [...plain, ['host', 'a'], ['host', 'b']],
  [...plain, ['content-length', '5'], ['content-length', '6']],
  [...plain, ['x', 'a\r\nx-remote-user: admin']],
  [...plain, ['x\0y', 'z']],
  [
    [':method', 'CONNECT'],
    [':authority', '169.254.169.254:80'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', ''],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', 'http://169.254.169.254/echo'],
  ],
  [...known, ['te', 'gzip']],
  [...known, ['expect', '100-continue'], ['cookie', 'x'.repeat(60_000)]],
]

async function attacks(door: Door): Promise<void> {
  await Promise.all(oddHeaders.map(async lines => send(await openRaw(door), request(1, lines))))
  const block = headerBlock([...known, ['x', 'y'.repeat(200)]])
  const first = frame(frameTypes.headers, 1, 1, block.subarray(0, 10))
  const more = frame(frameTypes.continuation, 0, 1, headerBlock([['a', 'b']]))
  await send(await openRaw(door), first, ...Array.from({ length: 4_000 }, () => more))
  await send(await openRaw(door), ...Array.from({ length: 4_000 }, () => settings([4, 1])))
  const ping = frame(frameTypes.ping, 0, 0, Buffer.alloc(8))
  await send(await openRaw(door), ...Array.from({ length: 4_000 }, () => ping))
  const cancel = Buffer.from([0, 0, 0, 8])
  const resets = Array.from({ length: 1_500 }, (_, i) => [
    request(2 * i + 1, i % 2 === 0 ? known : plain),
    frame(frameTypes.reset, 0, 2 * i + 1, cancel),
  ])
  await send(await openRaw(door), ...resets.flat())
  const window = Buffer.from([0x7f, 0xff, 0xff, 0xff])
  await send(
    await openRaw(door),
    frame(frameTypes.window, 0, 0, window),
    frame(frameTypes.window, 0, 0, window),
  )
  const zero = [4, 0] as const
  const streams = Array.from({ length: 150 }, (_, i) => request(2 * i + 1, known))
  await send(await openRaw(door, zero), ...streams)
  await send(
    await openRaw(door),
    request(1, [...known.slice(0, 0), ...known], true),
    frame(frameTypes.headers, endHeaders, 1, headerBlock([[':path', '/x']])),
  )
  const junk = async (i: number): Promise<void> => {
    const frames = Array.from({ length: 20 }, () => frame(i % 12, i * 7, i % 3, randomBytes(i)))
    await send(await openRaw(door), ...frames)
  }
  await Promise.all(Array.from({ length: 10 }, (_, i) => junk(i)))
}

const doors = { http: await startDoor(t), https: await startDoor(t, { protocol: 'https' }) }

t.test('what strangers hold of memory is bounded by their connections', async t => {
  const door = doors.http
  const before = await calm(t, door)
  const junk: Line = ['authorization', 'Bearer junk']
  const lines: Line[] = [[':method', 'POST'], ...plain.slice(1), junk]
  const connections = 4
  const held = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await openRaw(door)
      for (let i = 0; i < 100; i++) {
        // As large as one frame may be, four of them, and a body that does not come.
        const more: Line[] = [1, 2, 3].map(at => [`x-${at}`, 'y'.repeat(16_000)])
        const stream = 2 * i + 1
        socket.write(frame(frameTypes.headers, 0, stream, headerBlock(lines)))
        for (const [at, one] of more.entries()) {
          const flags = at === more.length - 1 ? endHeaders : 0
          socket.write(frame(frameTypes.continuation, flags, stream, headerBlock([one])))
        }
      }
      return socket
    }),
  )
  await new Promise(resolve => setTimeout(resolve, 500))
  const perConnection = ((await door.memory()) - before.bytes) / connections
  t.comment(`${(perConnection / 1024 ** 2).toFixed(1)} MiB a connection`)
  t.ok(perConnection < 12 * 1024 ** 2)
  await worksAtOnce(t, door, 'meanwhile')
  for (const socket of held) socket.destroy()
  await staysCalm(t, door, before)
})

for (const protocol of protocols) {
  t.test(`frames that no library sends harm nobody, over ${protocol}`, async t => {
    const door = doors[protocol]
    const before = await calm(t, door)
    await attacks(door)
    await staysCalm(t, door, before)
    if (protocol === 'http') return
    const stranger = openSession(door)
    const answer = await askOn(stranger, { path: maps, headers: { authorization: 'Bearer junk' } })
    t.equal(answer.status, 401)
    const { maxConcurrentStreams = 0 } = stranger.remoteSettings
    t.ok([8, 100].includes(maxConcurrentStreams), 'a stranger has few streams: fewer in a flood')
    await new Promise(resolve => setTimeout(resolve, 100))
    t.ok(stranger.closed || stranger.destroyed, 'and no more requests after a 401')
    const friend = openSession(door)
    t.equal((await askOn(friend, { path: maps, headers: admin })).status, 200)
    await new Promise(resolve => setTimeout(resolve, 100))
    t.equal(friend.remoteSettings.initialWindowSize, 1024 ** 2, 'whoever is known may send more')
    friend.destroy()
  })
}

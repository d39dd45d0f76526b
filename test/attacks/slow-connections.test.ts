/** Connections that do nothing, or that slowly, are closed in time over http and https alike;
 *  long uploads are not. Time limits are shortened. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Http2Session } from 'node:http2'
import * as net from 'node:net'
import t, { type Test } from 'tap'
import type { HttpRequest } from '../../lib/cache/http/server/http-request.ts'
import { sendWhole } from '../../lib/cache/http/server/respond.ts'
import { Server } from '../../lib/cache/http/server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { connect, askRaw, type Address, openSession, protocols } from '../support/attacks/ask.ts'
import { patient } from '../support/patience.ts'

/** Long enough for this machine to send the next piece in. */
const shortMs = 6 * patient(50)

async function serve(t: Test, protocol: 'http' | 'https'): Promise<Address> {
  const [cert, key] = ['pem', 'key'].map(end => readFileSync(`test/support/certs/server.${end}`))
  const server = await Server.listen({
    listen: { protocol, host: '127.0.0.1', port: 0 },
    tls: { cert, key },
    clock: systemClock,
    idleTimeoutMs: shortMs,
    headersTimeoutMs: shortMs,
    onFault: error => t.fail(String(error)),
    handler: one => void answer(one),
  })
  t.teardown(() => server.close())
  return { protocol, port: server.port }
}

/** Answers with the number of bytes that have come. */
async function answer(one: HttpRequest): Promise<void> {
  let bytes = 0
  for await (const piece of one.body as AsyncIterable<Buffer>) bytes += piece.length
  sendWhole(one, { status: 200, headers: {} }, Buffer.from(String(bytes)))
}

/** Resolves with true when the connection is closed, also by a reset, and with false if it stays
 *  open for long. */
async function isClosed(connection: net.Socket | Http2Session): Promise<boolean> {
  connection.on('error', () => {})
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, shortMs * 20, false)
  })
  const closed = new Promise<true>(resolve => connection.once('close', () => resolve(true)))
  try {
    return await Promise.race([closed, late])
  } finally {
    clearTimeout(timer)
  }
}

for (const protocol of protocols) {
  t.test(`what is slow, idle or too large is closed over ${protocol}`, async t => {
    const address = await serve(t, protocol)
    const raw = net.connect(address.port, '127.0.0.1')
    raw.on('error', () => {})
    const [mute, slow, idle] = await Promise.all([
      connect(address),
      connect(address),
      connect(address),
    ])
    slow.write('GET / HTTP/1.1\r\nHost: x\r\n')
    const trickle = setInterval(() => slow.write('X-A: b\r\n'), shortMs / 6)
    t.teardown(() => clearInterval(trickle))
    idle.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const session = openSession(address)
    await once(session, 'connect')
    const silent = [raw, mute, slow, idle]
    for (const socket of silent) socket.resume()
    t.strictSame(
      await Promise.all([...silent, session].map(isClosed)),
      [true, true, true, true, true],
      'silent, silent after TLS, slow headers, idle, and an idle HTTP/2 connection',
    )
  })

  t.test(
    `headers of 64 KiB are taken over ${protocol}, and more is refused with that number`,
    async t => {
      const address = await serve(t, protocol)
      const withHeader = (bytes: number): Promise<string> =>
        askRaw(address, `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(bytes)}\r\n\r\n`, text =>
          text.includes('\r\n\r\n'),
        )
      t.match(await withHeader(60_000), /^HTTP\/1\.1 200 /)
      const refusal = await withHeader(70_000)
      t.match(refusal, /^HTTP\/1\.1 431 [^]*above 65536 bytes/)
    },
  )

  t.test(`a long upload over ${protocol} is not cut off`, async t => {
    const address = await serve(t, protocol)
    const socket = await connect(address)
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n')
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    for (let i = 0; i < 10; i++) {
      await new Promise(resolve => setTimeout(resolve, shortMs / 3))
      socket.write('x')
    }
    await once(socket, 'close')
    t.match(text, /^HTTP\/1\.1 200 [^]*10$/)
  })
}

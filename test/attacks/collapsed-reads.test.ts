/** Identical reads that share an answer of the upstream, while some of their clients, or the
 *  upstream, mean harm: nobody else has less of it, or waits for them. */

import { once } from 'node:events'
import * as http from 'node:http'
import t from 'tap'
import { moment } from '../support/http/moment.ts'
import { ask } from '../support/http/served.ts'
import { startProxied } from '../support/upstream/proxied.ts'

const path = '/api/v1/namespaces/default/configmaps?unknown=1'
const megabyte = 1024 * 1024

/** A list of 4 MB of which no two pieces are alike. */
function largeBody(): Buffer {
  const body = Buffer.alloc(4 * megabyte)
  for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at)
  return body
}

async function begun(port: number): Promise<http.IncomingMessage> {
  const request = http.get({ host: '127.0.0.1', port, path, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.on('error', () => {})
  return response
}

async function bodyOf(response: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}

t.test(
  'clients who do not read, or leave, take nothing from those who share with them',
  async t => {
    const { upstream, port } = await startProxied(t)
    const body = largeBody()
    let asked = 0
    let open = (): void => {}
    const opened = new Promise<void>(resolve => (open = resolve))
    upstream.before = async ({ url }) => {
      if (url !== path) return undefined
      asked++
      await opened
      return { code: 200, body }
    }
    const first = ask(port, { path })
    while (asked === 0) await moment()
    const agent = new http.Agent()
    const stopped = [begun(port), begun(port)]
    const leaving = [begun(port), begun(port)]
    const others = Array.from({ length: 6 }, () => ask(port, { path }, agent))
    while (asked === 1) await moment()
    open()
    for (const one of leaving) (await one).destroy()
    for (const answer of await Promise.all([first, ...others])) t.ok(answer.body.equals(body))
    for (const one of stopped) {
      t.ok((await bodyOf(await one)).equals(body), 'it is kept for who reads later')
    }
  },
)

t.test('an upstream that leaves one question unanswered answers those who come after', async t => {
  const { upstream, port } = await startProxied(t)
  let asked = 0
  upstream.fault = ({ url }) => (url === path && ++asked === 1 ? { type: 'hang' } : undefined)
  const first = http.get({ host: '127.0.0.1', port, path, agent: false })
  first.on('error', () => {})
  while (asked === 0) await moment()
  const agent = new http.Agent()
  const others = Array.from({ length: 20 }, () => ask(port, { path }, agent))
  for (const { status } of await Promise.all(others)) t.equal(status, 200)
  first.destroy()
})

t.test('the end of the last client ends the question', async t => {
  const { upstream, port } = await startProxied(t)
  let asked = 0
  const ends: Promise<void>[] = []
  upstream.fault = ({ url }) => {
    if (url !== path) return undefined
    asked++
    const { promise, onClose } = closing()
    ends.push(promise)
    return { type: 'hang', onClose }
  }
  const clients = Array.from({ length: 5 }, () => {
    const client = http.get({ host: '127.0.0.1', port, path, agent: false })
    client.on('error', () => {})
    return client
  })
  // The first is asked for at once, and the others together, after a second without an answer.
  while (asked < 2) await moment()
  for (const client of clients) client.destroy()
  await Promise.all(ends)
  t.equal(ends.length, asked)
})

function closing(): { readonly promise: Promise<void>; readonly onClose: () => void } {
  let onClose = (): void => {}
  const promise = new Promise<void>(resolve => (onClose = resolve))
  return { promise, onClose }
}

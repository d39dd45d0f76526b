/** Slots of requests are given back, however a request ends: upgrades that cannot be sent, clients
 *  that leave, upstreams that break off. */

import t from 'tap'
import { type Door, maps, startDoor } from '../support/attacks/door.ts'
import { connect, askRaw, protocols } from '../support/attacks/ask.ts'
import { calm, staysCalm } from '../support/attacks/works.ts'

const exec = '/api/v1/namespaces/default/pods/p/exec?command=cat'

/** Upgrades without credentials that go wrong in one way or another. */
const requests: readonly (readonly string[])[] = [
  ['Trailer: x', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'],
  ['Trailer: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 0'],
  ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Transfer-Encoding: chunked'],
  ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-A: \xe9\xff'],
  ['Connection: Upgrade, Host', 'Upgrade: websocket', 'Expect: 100-continue'],
  ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Authorization: Bearer junk'],
]

async function upgrades(door: Door, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await Promise.all(
      requests.map(lines => {
        const head = [`POST ${exec} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n')
        return askRaw(door, Buffer.from(head, 'latin1'), text => text.includes('\r\n\r\n'))
      }),
    )
  }
}

/** Clients that leave before the upstream has answered, and upstreams that do. */
async function breaksOff(door: Door): Promise<void> {
  const head = `POST ${exec} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`
  const get = 'GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n'
  for (const type of ['reset', 'garbage', 'hang'] as const) {
    door.upstream.fault = ({ url }) => (/echo|exec/.test(url) ? { type } : undefined)
    for (let i = 0; i < 20; i++) {
      const socket = await connect(door)
      socket.write(i % 2 === 0 ? head : get)
      setTimeout(() => socket.destroy(), i * 5)
    }
  }
  // Requests behind one that is not answered yet.
  door.upstream.fault = ({ url }) => (url.includes('echo') ? { type: 'hang' } : undefined)
  for (let i = 0; i < 20; i++) {
    const socket = await connect(door)
    socket.write(get + get.replace('/echo', maps) + get)
    setTimeout(() => socket.destroy(), i * 5)
  }
  await new Promise(resolve => setTimeout(resolve, 200))
  door.upstream.fault = () => undefined
}

for (const protocol of protocols) {
  t.test(`no slot is lost over ${protocol}`, async t => {
    const door = await startDoor(t, { protocol })
    const before = await calm(t, door)
    await upgrades(door, 20)
    await breaksOff(door)
    await staysCalm(t, door, before)
  })
}

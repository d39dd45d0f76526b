/** One user's requests leave room for everybody else's: bodies that never come, answers that
 *  nobody reads, watches without end. */

import type { Socket } from 'node:net'
import t from 'tap'
import { type Door, maps, startDoor } from '../support/attacks/door.ts'
import { connect } from '../support/attacks/ask.ts'
import { identity } from '../support/upstream/reviews.ts'
import type { Binding } from '../support/upstream/rules.ts'
import { calm, staysCalm, worksAtOnce } from '../support/attacks/works.ts'

const mallory: Binding = {
  subjects: ['mallory'],
  namespace: '',
  rules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
}
const who = 'Host: x\r\nAuthorization: Bearer mallory\r\n'

async function opened(door: Door, count: number, bytes: string): Promise<Socket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => connect(door)))
  for (const socket of sockets) socket.write(bytes)
  return sockets
}

t.test('what one user holds, others do not lack', async t => {
  const door = await startDoor(t, {
    users: [['mallory', identity('mallory')]],
    bindings: [mallory],
  })
  const before = await calm(t, door)
  const held: Socket[] = []
  // Bodies of which nothing comes, and such as begin and go no further.
  held.push(...(await opened(door, 300, `POST /echo HTTP/1.1\r\n${who}Content-Length: 9\r\n\r\n`)))
  held.push(...(await opened(door, 300, `POST /echo HTTP/1.1\r\n${who}Content-Length: 9\r\n\r\nx`)))
  // Answers that nobody reads.
  const big = 'x'.repeat(1024)
  for (const socket of await opened(
    door,
    20,
    `POST /echo HTTP/1.1\r\n${who}Transfer-Encoding: chunked\r\n\r\n`,
  )) {
    socket.pause()
    for (let i = 0; i < 600; i++) socket.write(`400\r\n${big}\r\n`)
    held.push(socket)
  }
  // Watches that pass, and that do not.
  held.push(...(await opened(door, 200, `GET ${maps}?watch=1&foo=1 HTTP/1.1\r\n${who}\r\n`)))
  held.push(...(await opened(door, 200, `GET ${maps}?watch=1 HTTP/1.1\r\n${who}\r\n`)))
  await new Promise(resolve => setTimeout(resolve, 500))
  t.ok(door.upstream.connections.size < 400, 'no connection for a body that has not begun')
  await worksAtOnce(t, door, 'meanwhile')
  for (const socket of held) socket.destroy()
  await staysCalm(t, door, before)
})

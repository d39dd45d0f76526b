/** Several workers under attack: a thread that has all it can do, clients that read nothing on
 *  all of them, and more changes than a ring holds leave the process, its other clients and its
 *  bounds as they were. */

import type { Socket } from 'node:net'
import t from 'tap'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { admin, maps, startDoor } from '../support/attacks/door.ts'
import { askOn, connect, openSession } from '../support/attacks/ask.ts'
import { calm, worksAtOnce } from '../support/attacks/works.ts'
import { moment } from '../support/http/moment.ts'
import { lacksThreads } from '../support/runner/other-node.ts'
import { configMap } from '../support/upstream/proxied.ts'

const skip = lacksThreads()
const headers = { authorization: admin.authorization }
const all = '/api/v1/configmaps'

t.test('threads are flooded, not read, and told of more than a ring holds', { skip }, async t => {
  const objects = Array.from(
    { length: 60 },
    (_, i) => [maps, configMap(`m-${i}`, 'x'.repeat(20_000))] as const,
  )
  const door = await startDoor(t, { args: ['--threads=2'], objects })
  const before = await calm(t, door)

  // One connection is one thread's: it has lists of its own to make.
  const flood = openSession(door)
  for (let i = 0; i < 150; i++) {
    const path = `${all}?labelSelector=${encodeURIComponent(`!a${i}`)}`
    void askOn(flood, { path, headers }).catch(() => {})
  }
  // Watches and lists that nobody reads, at both threads.
  const held: Socket[] = []
  for (let i = 0; i < 60; i++) {
    const socket = await connect(door)
    socket.pause()
    const path = i % 2 === 0 ? all : `${all}?watch=1&sendInitialEvents=false`
    const lines = ['Host: 127.0.0.1', `Authorization: ${headers.authorization}`]
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    held.push(socket)
  }
  // Twice what a ring holds, while both have something else to do.
  const value = Buffer.from(JSON.stringify(configMap('burst', 'y'.repeat(100_000))))
  for (let i = 0; i < 80; i++) {
    await door.etcd.txn({
      compares: [],
      success: [{ type: 'put', key: keyFromText(`/registry/configmaps/burst/b-${i}`), value }],
      failure: [],
    })
  }
  await worksAtOnce(t, door, 'meanwhile')
  flood.destroy()
  for (const socket of held) socket.destroy()
  await door.etcd.txn({
    compares: [],
    success: [{ type: 'delete', range: prefixRange(keyFromText('/registry/configmaps/burst/')) }],
    failure: [],
  })
  await worksAtOnce(t, door, 'after')
  // Memory is not what it was: the history has the burst for ten minutes.
  for (const [name, value] of Object.entries(before.held)) {
    while ((await door.metric(name)) > value) await moment()
  }
  const died = door.log.filter(({ message }) => message.includes('a worker '))
  t.strictSame(died, [], 'no thread has died')
})

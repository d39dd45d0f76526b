/** gRPC messages out of chunks that end anywhere, read at once or later. */

import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { MessageReader, messagePrefix } from '../../../lib/etcd/http2/message-reader.ts'

t.test('messages come whole and in order, wherever chunks end and whenever they are read', t => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = createRandom(seed)
    const below = (most: number): number => Math.floor(random.next() * most)
    const sent = Array.from({ length: 1 + below(30) }, () => {
      const message = Buffer.alloc(random.next() < 0.2 ? below(4) : below(3_000))
      return message.fill(1 + below(250))
    })
    const whole = Buffer.concat(sent.flatMap(each => [messagePrefix(each.length), each]))
    const reader = new MessageReader(1_000_000, random.next() < 0.5 ? 65_536 : 0)
    const got: Buffer[] = []
    const chunkMax = random.next() < 0.5 ? 20 : 9_000
    for (let at = 0; at < whole.length;) {
      const chunk = Buffer.from(whole.subarray(at, at + below(chunkMax)))
      at += chunk.length
      reader.push(chunk)
      // Whoever holds a call reads nothing for a while, and may stop after any message.
      let left = random.next() < 0.3 ? below(3) : Infinity
      while (left-- > 0) {
        const message = reader.next()
        if (message === undefined) break
        if (typeof message === 'number') throw new Error('too large')
        got.push(message.bytes)
      }
      if (random.next() < 0.9) reader.settle()
      const unread = at - got.reduce((sum, each) => sum + each.length + 5, 0)
      if (reader.heldBytes < unread) t.fail(`seed ${seed}: holds less than what is unread`)
    }
    for (;;) {
      const message = reader.next()
      if (message === undefined || typeof message === 'number') break
      got.push(message.bytes)
    }
    if (!Buffer.concat(got).equals(Buffer.concat(sent)) || got.length !== sent.length) {
      t.fail(`seed ${seed}: other messages were read`)
    }
    if (reader.rest().length > 0) t.fail(`seed ${seed}: something is left`)
  }
  t.end()
})

t.test('what follows the last message is handed over whole', t => {
  const reader = new MessageReader(100)
  const message = Buffer.concat([messagePrefix(3), Buffer.from('abc')])
  reader.push(message.subarray(0, 2))
  reader.settle()
  reader.push(Buffer.concat([message.subarray(2), Buffer.from('rest')]))
  t.equal(String((reader.next() as { bytes: Buffer }).bytes), 'abc')
  t.equal(String(reader.rest()), 'rest')
  t.end()
})

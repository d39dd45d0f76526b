/** Header blocks: the examples of RFC 7541, what breaks its rules, and whatever nghttp2 writes. */

import { once } from 'node:events'
import * as http2 from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { HeaderDecoder } from '../../../lib/etcd/http2/hpack/decoder.ts'
import { headerField, statusField } from '../../../lib/etcd/http2/hpack/encoder.ts'

const listMax = 64 * 1024

/** Decodes blocks of one connection, in hexadecimal digits. */
function decoded(...blocks: readonly string[]): (readonly string[] | undefined)[] {
  const decoder = new HeaderDecoder(listMax)
  return blocks.map(hex => {
    const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    return decoder.decode(bytes, 0, bytes.length)?.pairs
  })
}

const first = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com']
const second = [...first, 'cache-control', 'no-cache']
const third = [
  ':method',
  'GET',
  ':scheme',
  'https',
  ':path',
  '/index.html',
  ':authority',
  'www.example.com',
  'custom-key',
  'custom-value',
]

t.test('three requests of RFC 7541, C.3 and C.4, as they are and shortened', async t => {
  t.strictSame(
    decoded(
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ),
    [first, second, third],
  )
  t.strictSame(
    decoded(
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ),
    [first, second, third],
  )
})

t.test('fields leave a table that is full, and one that is made smaller', async t => {
  const long = (letter: string): string => letter.charCodeAt(0).toString(16).repeat(2_000)
  const kept = (letter: string): string =>
    `4001${letter.charCodeAt(0).toString(16)}7fd10e${long(letter)}`
  const decoder = new HeaderDecoder(listMax)
  const names = (hex: string): string[] | undefined => {
    const bytes = Buffer.from(hex, 'hex')
    const list = decoder.decode(bytes, 0, bytes.length)
    return list?.pairs.filter((_, i) => i % 2 === 0)
  }
  t.strictSame(names(kept('a') + kept('b')), ['a', 'b'])
  t.strictSame(names('bebf'), ['b', 'a'])
  t.strictSame(names(kept('c')), ['c'])
  t.strictSame(names('bebf'), ['c', 'b'])
  t.equal(names('c0'), undefined, 'the oldest is gone')
  t.strictSame(names('20'), [], 'nothing is kept')
  t.equal(names('be'), undefined)
  t.equal(names('3fe21f'), undefined, 'a table of 4,097 bytes is refused')
  t.strictSame(names('3fe11f'), [])
  t.equal(names('8220'), undefined, 'a size comes first')
})

t.test('what breaks the rules', async t => {
  for (const [name, block] of Object.entries({
    'index 0': '80',
    'an index that nobody has': 'be',
    'a name that nobody has': '7f00',
    'an integer without an end': 'ffffffffffff',
    'an integer that is cut off': 'ff80',
    'a text that is cut off': '00056162',
    'no value': '000161',
    'a shortened text with the end of all texts': '000184ffffffff',
    'padding of a whole byte': '00018261ff',
    'padding with zeros': '00018118',
  })) {
    t.strictSame(decoded(block), [undefined], name)
  }
})

t.test('of a list that is too long not all is kept, and the table stays right', async t => {
  const decoder = new HeaderDecoder(1_000)
  const line = Buffer.from(`400161 7f59 ${'78'.repeat(216)}`.replaceAll(' ', ''), 'hex')
  const block = Buffer.concat([line, line, line, line, line])
  const list = decoder.decode(block, 0, block.length)
  t.equal(list?.isTooLong, true)
  t.equal(list?.pairs.length, 8)
  t.equal(decoder.decode(Buffer.of(0xbe), 0, 1)?.pairs[0], 'a')
  const many = Buffer.alloc(24, 0x82)
  t.equal(decoder.decode(many, 0, 24)?.isTooLong, true, 'a field counts for 32 bytes more')
  t.equal(decoder.decode(many, 0, 20)?.isTooLong, false)
})

t.test('what nghttp2 writes is read, and what is written nghttp2 reads', async t => {
  const bytes = Array.from({ length: 256 }, (_, i) => i).filter(
    i => i === 9 || (i > 31 && i !== 127),
  )
  const values = [
    ...bytes.map(i => `x${String.fromCharCode(i)}y`),
    String.fromCharCode(...bytes.filter(i => i < 127)),
    'a'.repeat(300),
    '-',
  ]
  // A block as nghttp2 writes it comes as the first frame of headers that a client sends.
  const blocks = async (headers: http2.OutgoingHttpHeaders): Promise<readonly string[]> => {
    const raw = createServer().listen(0, '127.0.0.1')
    await once(raw, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(raw.address() as AddressInfo).port}`)
    session.on('error', () => {})
    const [socket] = (await once(raw, 'connection')) as [Socket]
    session.request(headers).on('error', () => {})
    let all = Buffer.alloc(0)
    let pairs: readonly string[] | undefined
    while (pairs === undefined) {
      all = Buffer.concat([all, (await once(socket, 'data'))[0] as Buffer])
      for (let at = 24; at + 9 <= all.length; at += 9 + all.readUIntBE(at, 3)) {
        const end = at + 9 + all.readUIntBE(at, 3)
        if (all[at + 3] !== 1 || end > all.length) continue
        pairs = new HeaderDecoder(listMax).decode(all, at + 9, end)?.pairs
      }
    }
    session.destroy()
    socket.destroy()
    raw.close()
    return pairs
  }
  const perRequest = 100
  for (let from = 0; from < values.length; from += perRequest) {
    const some = values.slice(from, from + perRequest)
    const headers = Object.fromEntries(some.map((value, i) => [`x-${i}`, value]))
    const read = await blocks({ ':path': '/', ...headers })
    for (const [i, value] of some.entries()) {
      t.equal(read[read.indexOf(`x-${i}`) + 1], value)
    }
  }
})

t.test('fields that cannot be written', async t => {
  t.equal(statusField(200), '\x88')
  t.equal(statusField(418), '\x08\x03418')
  t.equal(headerField('Content-Type', 'a/b'), '\x0f\x10\x03a/b')
  const long = headerField('x', 'y'.repeat(300))
  t.strictSame(decoded(Buffer.from(long, 'latin1').toString('hex')), [['x', 'y'.repeat(300)]])
  for (const [name, value] of [
    ['a b', 'x'],
    ['', 'x'],
    ['a', 'x\r\ny'],
    ['a', '\u0100'],
    ['connection', 'close'],
  ] as const) {
    t.throws(() => headerField(name, value), { message: /cannot be written/ })
  }
})

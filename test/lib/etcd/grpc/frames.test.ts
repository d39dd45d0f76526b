import fc from 'fast-check'
import t from 'tap'
import {
  type Frame,
  FrameReader,
  frameOf,
  withoutPadding,
} from '../../../../lib/etcd/grpc/frames.ts'
import { headerBlock, readAnswerHead } from '../../../../lib/etcd/grpc/header-block.ts'

const bytes = (max: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength: max }).map(array => Buffer.from(array))

const anyFrame: fc.Arbitrary<Frame> = fc.record({
  type: fc.nat(255),
  flags: fc.nat(255),
  stream: fc.nat(0x7fff_ffff),
  payload: bytes(40),
})

t.test('frames are found however the bytes are cut', async () => {
  fc.assert(
    fc.property(fc.array(anyFrame), fc.array(fc.integer({ min: 1, max: 30 })), (frames, cuts) => {
      const all = Buffer.concat(frames.map(frameOf))
      const reader = new FrameReader()
      const found: Frame[] = []
      let at = 0
      for (const cut of [...cuts, all.length]) {
        const piece = all.subarray(at, at + cut)
        at += cut
        const isRead = reader.read(piece, frame =>
          found.push({ ...frame, payload: Buffer.from(frame.payload) }),
        )
        if (!isRead) return false
      }
      return Buffer.concat(found.map(frameOf)).equals(all) && found.length === frames.length
    }),
  )
})

t.test('a frame that is longer than any may be ends the connection', async t => {
  const reader = new FrameReader()
  const head = Buffer.from('004001000000000001', 'hex')
  t.equal(
    reader.read(head, () => t.fail('no frame')),
    false,
  )
})

t.test('padding is taken away, and no more than there is', async t => {
  const padded = { type: 0, flags: 8, stream: 1 }
  const rest = withoutPadding({ ...padded, payload: Buffer.from('\u0002abc\0\0', 'latin1') })
  t.equal(rest?.toString(), 'abc')
  t.equal(withoutPadding({ ...padded, payload: Buffer.from('\u0009ab', 'latin1') }), undefined)
  t.equal(withoutPadding({ ...padded, payload: Buffer.alloc(0) }), undefined)
})

/** `:status: 200` and a content type, as Go and nghttp2 send them. */
const head = '885f8b1d75d0620d263d4c4d6564'
const status = '00889acac8b21234da8f'

t.test('an answer is well when its status is 0, in whichever form that is written', async t => {
  const of = (hex: string): unknown => readAnswerHead(Buffer.from(hex, 'hex'))
  t.strictSame(of(head), { isOk: true, status: undefined })
  t.strictSame(of(`20${head}`), { isOk: true, status: undefined }, 'the table has no bytes')
  const plain = headerBlock([['grpc-status', '0']])
  t.strictSame(readAnswerHead(plain), { isOk: false, status: 'ok' })
  t.strictSame(readAnswerHead(headerBlock([['grpc-status', '14']])), {
    isOk: false,
    status: 'failed',
  })
  for (const value of ['0130', '8107']) {
    t.strictSame(of(`${status}${value}`), { isOk: false, status: 'ok' }, value)
    t.strictSame(of(`40${status.slice(2)}${value}`), { isOk: false, status: 'ok' }, value)
  }
  t.strictSame(of(`${status}0131`), { isOk: false, status: 'failed' })
  t.strictSame(of(`${status}0130${status}0130`), { isOk: false, status: 'failed' }, 'said twice')
  t.strictSame(of('8d'), { isOk: false, status: undefined }, '404')
  for (const broken of [
    'be',
    '80',
    'ff',
    '3fe11f',
    '7f',
    '00',
    status,
    `${status}0530`,
    '7fffffffff01',
  ]) {
    t.equal(of(broken), undefined, broken)
  }
})

t.test('no block is too odd to be read', async t => {
  fc.assert(
    fc.property(bytes(60), block => {
      readAnswerHead(block)
    }),
  )
  const long = 'x'.repeat(300)
  t.strictSame(readAnswerHead(headerBlock([[long, long]])), { isOk: false, status: undefined })
})

import fc from 'fast-check'
import t from 'tap'
import {
  cutPadding,
  emptyFrame,
  frameHead,
  readFrame,
  usualPayloadMaxBytes,
} from '../../../lib/etcd/http2/frames.ts'
import { frame } from '../../support/attacks/raw-http2.ts'

const anyFrame = fc.record({
  type: fc.nat(255),
  flags: fc.nat(255),
  stream: fc.nat(0x7fff_ffff),
  payload: fc.uint8Array({ maxLength: 40 }).map(array => Buffer.from(array)),
})

t.test('frames are read as they were written, and one that is cut is not', async () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { minLength: 1 }), fc.nat(40), (frames, cut) => {
      const all = Buffer.concat(
        frames.map(({ type, flags, stream, payload }) =>
          Buffer.concat([
            Buffer.from(frameHead(payload.length, type, flags, stream), 'latin1'),
            payload,
          ]),
        ),
      )
      const read = emptyFrame()
      let at = 0
      for (const { type, flags, stream, payload } of frames) {
        const isCut = readFrame(read, all.subarray(0, at + 8 + Math.min(cut, payload.length)), at)
        if (isCut !== 0) return false
        at = readFrame(read, all, at)
        const got = frame(read.type, read.flags, read.stream, all.subarray(read.from, read.to))
        if (!got.equals(frame(type, flags, stream, payload))) return false
      }
      return at === all.length && readFrame(read, all, at) === 0
    }),
  )
})

t.test('a frame that is longer than any may be is refused by its head', async t => {
  const head = (length: number): Buffer => Buffer.from(frameHead(length, 0, 0, 1), 'latin1')
  t.equal(readFrame(emptyFrame(), head(usualPayloadMaxBytes), 0), 0)
  t.equal(readFrame(emptyFrame(), head(usualPayloadMaxBytes + 1), 0), -1)
})

t.test('padding is taken away, and no more than there is', async t => {
  const cut = (payload: string): string | undefined => {
    const padded = emptyFrame()
    readFrame(padded, frame(0, 8, 1, Buffer.from(payload, 'latin1')), 0)
    const { bytes, from, to } = cutPadding(padded) ? padded : { ...padded, from: -1, to: -1 }
    return from === -1 ? undefined : bytes.toString('latin1', from, to)
  }
  t.equal(cut('\u0002abc\0\0'), 'abc')
  t.equal(cut('\u0003\0\0\0'), '')
  t.equal(cut('\u0009ab'), undefined)
  t.equal(cut(''), undefined)
})

import t from 'tap'
import { stampMark, stampOf } from '../../bench/watch/orders.ts'
import { StampReader } from '../../bench/watch/stamp-reader.ts'

const stamps = Array.from({ length: 20 }, (_, i) => 1_000_000 + i)
const frames = stamps.map(stamp =>
  `{"before":"${'x'.repeat(stamp % 97)}",${stampMark}${stampOf(stamp)}"`.padEnd(3_900, '.'),
)
const stream = Buffer.from(frames.join(''))

t.test('stamps are found wherever the stream is cut, in a buffer that is used again', t => {
  const sizes = [...Array.from({ length: 70 }, (_, i) => i + 1), 1_000, 3_900, 16_384, 1e6]
  for (const size of sizes) {
    const found: number[] = []
    const reader = new StampReader(stamp => found.push(stamp))
    const buffer = Buffer.alloc(Math.min(size, stream.length))
    for (let from = 0; from < stream.length; from += size) {
      reader.take(buffer, 0, stream.copy(buffer, 0, from, from + size))
    }
    t.strictSame(found, stamps, `pieces of ${size} bytes`)
  }
  t.end()
})

import t from 'tap'
import { noteEffort } from '../../../lib/base/slice.ts'
import { listBody } from '../../../lib/codec/output/list-body.ts'
import { type ItemEncoder, itemsInSteps, type Segment } from '../../../lib/codec/output/segments.ts'
import type { NotExact } from '../../../lib/base/not-exact.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { configMap, configMaps, drained, runsOf, shownAs } from '../../support/kube/outputs.ts'

const encoder = new ObjectEncoder(configMaps, undefined)
const meta = { resourceVersion: '99' }

t.test(
  'what is kept of large leaves lies in memory that V8 does not count, and nothing else',
  async t => {
    const large = configMap('large', { data: { text: 'x'.repeat(10_000) } }, 1)
    const runs = [...runsOf([large]), ...runsOf([configMap('small', {}, 2)])]
    const name = encoder.segmentName(shownAs())
    const isShared = (bytes: Uint8Array | undefined): boolean =>
      bytes?.buffer instanceof SharedArrayBuffer
    const request = { form: shownAs(), isPretty: false, meta, runs }
    t.notOk(drained(listBody(encoder, request)).pieces.some(isShared), 'nothing is kept')
    const segments = new SegmentCache<Segment>(1_000_000)
    t.equal(drained(listBody(encoder, { ...request, segments })).pieces.filter(isShared).length, 1)
    const kept = runs.map(({ leaf }) => segments.get(leaf!, name)?.bytes)
    t.strictSame(kept.map(isShared), [true, false])
  },
)

function textOf(bytes: Uint8Array | NotExact | undefined): string {
  return Buffer.from(bytes as Uint8Array).toString()
}

t.test('items that take long are made in steps, and kept as one', async t => {
  const slow = (mark: string): ItemEncoder => ({
    append(out, { key }) {
      noteEffort(2_000)
      out.append(Buffer.from(`${mark}${key.at(-1)}`))
      return undefined
    },
    segmentName: mark,
  })
  const entries = ['a', 'b', 'c', 'd'].map((name, i) => configMap(name, {}, i + 1))
  const leaf = {}
  const run = { entries, from: 1, to: 4, leaf, size: 4 }
  const cache = new SegmentCache<Segment>(1_000_000)
  const [first, second] = ['x', 'y'].map(mark => itemsInSteps(run, slow(mark), { cache }))
  let steps = 0
  for (;;) {
    const [one, other] = [first!.next(), second!.next()]
    steps++
    if (one.done !== true || other.done !== true) continue
    t.equal(textOf(one.value), 'xbxcxd')
    t.equal(textOf(other.value), 'ybycyd', 'neither writes over the other')
    break
  }
  t.equal(steps, entries.length, 'after each item others have a turn')
  t.equal(textOf(cache.get(leaf, 'x')?.bytes), 'xaxbxcxd')
})

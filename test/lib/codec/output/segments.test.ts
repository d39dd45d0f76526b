import t from 'tap'
import { listBody } from '../../../../lib/codec/output/list-body.ts'
import type { Segment } from '../../../../lib/codec/output/segments.ts'
import { ObjectEncoder } from '../../../../lib/codec/output/object-encoder.ts'
import { SegmentCache } from '../../../../lib/store/segments.ts'
import { configMap, configMaps, drained, runsOf, shownAs } from '../../../support/kube/outputs.ts'

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

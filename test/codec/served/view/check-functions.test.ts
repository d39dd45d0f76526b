import t from 'tap'
import { missesKey } from '../../../../lib/codec/served/view/check-functions.ts'
import type { DecodeState } from '../../../../lib/codec/transcode/decode/state.ts'

/** Entries of a map in protobuf: field 1 of each is its key. */
function entries(field: number, keys: readonly string[]): Buffer {
  const one = (key: string): Buffer => {
    const text = Buffer.from(key)
    const entry = Buffer.concat([Buffer.from([0x0a, text.length]), text])
    return Buffer.concat([Buffer.from([(field << 3) | 2, entry.length]), entry])
  }
  return Buffer.concat(keys.map(one))
}

const misses = (from: readonly string[], to: readonly string[]): boolean => {
  const input = Buffer.concat([entries(1, from), entries(2, to)])
  const state = { input } as Partial<DecodeState> as DecodeState
  return missesKey(state, { start: 0, end: input.length }, { from: 1, to: 2 })
}

t.test('the keys of one map are found in another, in whatever order either is', async t => {
  const keys = Array.from({ length: 5_000 }, (_, i) => `k${i}`).sort()
  const turned = keys.toReversed()
  t.notOk(misses(keys, keys), 'as Go writes them')
  t.notOk(misses(keys, turned))
  t.notOk(misses(turned, keys))
  t.notOk(misses([], keys))
  t.ok(misses([...keys, 'x'], keys))
  t.ok(misses(['x'], []))
  t.ok(misses([...turned, 'x'], keys), 'missing behind many that are in no order')
  t.notOk(misses(['b', 'a', 'b'], ['a', 'b']), 'a key twice')
})

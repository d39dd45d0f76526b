import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Ring } from '../../lib/store/ring.ts'

t.test('a ring behaves as an array that grows at one end and shrinks at the other', async () => {
  const uses = fc.array(fc.oneof(fc.constant('shift' as const), fc.nat(), fc.nat()), {
    maxLength: 300,
  })
  fc.assert(
    fc.property(uses, fc.nat({ max: 200 }), (uses, drained) => {
      const ring = new Ring<number>()
      const model: number[] = []
      for (const use of [...uses, ...Array.from({ length: drained }, () => 'shift' as const)]) {
        if (use === 'shift') assert.equal(ring.shift(), model.shift())
        else {
          ring.push(use)
          model.push(use)
        }
        assert.equal(ring.size, model.length)
        assert.equal(ring.first, model[0])
        assert.equal(ring.last, model.at(-1))
        assert.equal(ring.at(model.length), undefined)
        assert.equal(ring.at(-1), undefined)
      }
      ring.replaceLast(-1)
      if (model.length > 0) model[model.length - 1] = -1
      assert.deepEqual(
        model.map((_, i) => ring.at(i)),
        model,
      )
    }),
  )
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Heap } from '../../lib/base/heap.ts'

t.test('items leave a heap in order, whatever was added, taken and let go before', async t => {
  const command = fc.oneof(
    fc.record({ type: fc.constant('add' as const), value: fc.integer({ min: 0, max: 50 }) }),
    fc.constant({ type: 'take' as const }),
    fc.record({ type: fc.constant('retain' as const), divisor: fc.integer({ min: 2, max: 5 }) }),
  )
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), commands => {
      const heap = new Heap<number>((a, b) => a - b)
      let model: number[] = []
      for (const step of commands) {
        if (step.type === 'add') {
          heap.add(step.value)
          model = [...model, step.value].sort((a, b) => a - b)
        } else if (step.type === 'take') {
          assert.equal(heap.take(), model.shift())
        } else {
          heap.retain(value => value % step.divisor !== 0)
          model = model.filter(value => value % step.divisor !== 0)
        }
        assert.equal(heap.first, model[0])
        assert.equal(heap.size, model.length)
      }
      assert.deepEqual(
        heap.takeAll().toSorted((a, b) => a - b),
        model,
      )
      assert.equal(heap.size, 0)
    }),
  )
  t.pass('every run agreed with a sorted array')
})

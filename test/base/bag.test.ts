import fc from 'fast-check'
import t from 'tap'
import { Bag } from '../../lib/base/bag.ts'

function byNumber(one: number, other: number): number {
  return one - other
}

void t.test('holds what was added and not taken out', t => {
  const steps = fc.array(fc.oneof(fc.constant('add' as const), fc.nat(9)), { maxLength: 60 })
  fc.assert(
    fc.property(steps, steps => {
      const bag = new Bag<number>()
      const model = new Map<number, () => void>()
      const removers: (() => void)[] = []
      for (const [number, step] of steps.entries()) {
        if (step === 'add') {
          const remove = bag.add(number)
          model.set(number, remove)
          removers.push(remove)
        } else {
          // Now and then one that was taken out already.
          const remove = removers[removers.length - 1 - step]
          remove?.()
          for (const [key, known] of model) if (known === remove) model.delete(key)
        }
        t.equal(bag.size, model.size)
      }
      t.same([...bag].toSorted(byNumber), [...model.keys()])
    }),
  )
  t.end()
})

void t.test('each that stays is met once, if the one that is met is taken out', t => {
  const bag = new Bag<number>()
  const removers = Array.from({ length: 5 }, (_, i) => bag.add(i))
  const met: number[] = []
  for (const item of bag) {
    met.push(item)
    if (item % 2 === 0) removers[item]!()
  }
  t.same(met.toSorted(byNumber), [0, 1, 2, 3, 4])
  t.same([...bag].toSorted(byNumber), [1, 3])
  t.end()
})

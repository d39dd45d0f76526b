import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { Filter } from '../../../lib/kube/selectors/filter.ts'
import { rememberedFilter } from '../../../lib/kube/selectors/remembered-filter.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { entryAt } from '../../support/store/store-builders.ts'

interface Counted {
  readonly filter: Filter
  readonly asked: () => number
}

function counted(answer: (entry: KeyValue) => boolean | NotExact): Counted {
  let asked = 0
  const filter: Filter = one => {
    asked++
    return answer(one)
  }
  return { filter: rememberedFilter(filter), asked: () => asked }
}

const isEven = ({ modRevision }: KeyValue): boolean => modRevision % 2 === 0

/** Follows changes of one object after the other as a watch does: before, then after. */
function follow(filter: Filter, changes: number): boolean {
  for (let at = 1; at <= changes; at++) {
    for (const state of [entryAt('k', at), entryAt('k', at + 1)]) {
      if (filter(state) !== isEven(state)) return false
    }
  }
  return true
}

t.test('of a watch that is far behind each state is looked at once', async t => {
  const { filter, asked } = counted(isEven)
  t.ok(follow(filter, 1000))
  t.ok(asked() < 1050, `${asked()} of 2000`)
})

t.test('filters that are asked in turn with many others have no memory', async t => {
  const all = Array.from({ length: 200 }, () => counted(isEven))
  for (let i = 0; i < 100; i++) for (const { filter } of all) filter(entryAt('k', 2))
  t.equal(all[0]?.asked(), 100)
})

t.test('more filters than have a memory, and more keys, are answered as well', async t => {
  for (let i = 0; i < 40; i++) t.ok(follow(counted(isEven).filter, 100))
  const { filter } = counted(isEven)
  for (let i = 0; i < 5000; i++) {
    const state = entryAt(`k${i}`, i + 1)
    if (filter(state) !== isEven(state)) t.fail(state.key)
  }
})

t.test('what cannot be told is asked again', async t => {
  const { filter, asked } = counted(() => new NotExact('why'))
  for (let i = 0; i < 100; i++) t.ok(filter(entryAt('k', 1)) instanceof NotExact)
  t.equal(asked(), 100)
})

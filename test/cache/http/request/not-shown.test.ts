import t from 'tap'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { problemIn } from '../../../../lib/cache/http/request/not-shown.ts'
import type { RequestContext } from '../../../../lib/cache/http/request/request-context.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

/** Time passes with each look at it. */
class BusyClock extends FakeClock {
  yields = 0
  #nowMs = 0
  override monotonicMs(): number {
    return this.#nowMs++
  }
  override yield(): Promise<void> {
    this.yields++
    return super.yield()
  }
}

const context = { isOver: false } as unknown as RequestContext

t.test('the look for what is not exact gives way as its answer does', async t => {
  const clock = new BusyClock()
  function* pieces(): Generator<number, undefined> {
    for (let i = 0; i < 50; i++) yield i
    return undefined
  }
  t.equal(await problemIn(context, pieces(), clock), undefined)
  t.ok(clock.yields >= 5, `${clock.yields} turns for others`)
})

t.test('what is not exact is found among the pieces, and at their end', async t => {
  const problem = new NotExact('encrypted')
  const clock = new FakeClock()
  t.equal(await problemIn(context, [1, problem, 2][Symbol.iterator](), clock), problem)
  function* ending(): Generator<number, NotExact> {
    yield 1
    return problem
  }
  t.equal(await problemIn(context, ending(), clock), problem)
})

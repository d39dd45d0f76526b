import t from 'tap'
import { Resumptions } from '../../../../lib/http/limits/resumptions.ts'
import { settle } from '../../../support/fake-clock.ts'

t.test(
  'of what has waited for the same answer two go on at once, and the others in turn',
  async t => {
    let yields = 0
    const resumptions = new Resumptions({
      yield: async () => {
        yields++
      },
    })
    t.equal(resumptions.next(), undefined)
    t.equal(resumptions.next(), undefined)
    await resumptions.next()
    await resumptions.next()
    t.equal(yields, 2)
    await settle()
    t.equal(resumptions.next(), undefined, 'and two in the next turn of the event loop')
  },
)

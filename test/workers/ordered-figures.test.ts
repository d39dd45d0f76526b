import t from 'tap'
import { OrderedFigures } from '../../lib/workers/process/ordered-figures.ts'

const said = { segmentBytes: 100, indexBytes: 50, openWatches: 3 }

t.test(
  'an order to drop counts as followed until the thread says what it has since then',
  async t => {
    const figures = new OrderedFigures()
    figures.said(said, 0)
    figures.ordered('segmentBytes', 40)
    t.match(figures.current, { segmentBytes: 40, indexBytes: 50, openWatches: 3 })
    // It had not read the order yet.
    figures.said({ ...said, segmentBytes: 110 }, 0)
    t.equal(figures.current.segmentBytes, 40)
    figures.ordered('indexBytes', 10)
    figures.said({ ...said, segmentBytes: 35 }, 1)
    t.match(figures.current, { segmentBytes: 35, indexBytes: 10 })
    figures.said({ ...said, segmentBytes: 60, indexBytes: 12 }, 2)
    t.match(figures.current, { segmentBytes: 60, indexBytes: 12 })
  },
)

t.test('what a thread has shown holds until it shows something else', async t => {
  const figures = new OrderedFigures()
  figures.said({ ...said, page: 'a' }, 0)
  figures.said(said, 0)
  t.equal(figures.current.page, 'a')
})

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { columnPlace, placeOf } from '../../../lib/views/cells/place.ts'

/** Cells in their order, with those that have no value last. */
const numbers = [-Infinity, -1e300, -2.5, -1, -1e-300, 0, 1e-300, 0.5, 1, 2, 10, 1e300, Infinity]
const texts = ['\0', '\0a', 'A', 'a', 'a\0', 'a\0b', 'aa', 'b', 'é', '日', '😀']

for (const [what, cells] of [
  ['numbers', numbers],
  ['texts', texts],
] as const) {
  t.test(`places of ${what} compare as they do, up and down`, async t => {
    const kind = what === 'numbers' ? 'number' : 'text'
    const places = cells.map(cell => columnPlace(kind, cell, false))
    t.same([...places].sort(), places)
    const down = cells.toReversed().map(cell => columnPlace(kind, cell, true))
    t.same([...down].sort(), down)
    const none = columnPlace(kind, null, false)
    t.ok(places.every(place => place < none))
    t.equal(columnPlace(kind, null, true), none)
    t.ok(down.every(place => place < none))
  })
}

t.test('quantities, restarts and ages compare by what they are', async t => {
  const inOrder = (kind: 'quantity' | 'number' | 'time', ...cells: string[]): void => {
    const places = cells.map(cell => columnPlace(kind, cell, false))
    t.same([...places].sort(), places, kind)
  }
  inOrder('quantity', '100m', '1', '999', '1Ki', '1100', '1Mi', '2M', '<none>')
  inOrder('number', '0', '5 (2d ago)', '12', '<unset>')
  // The younger of two has the lesser age.
  inOrder('time', '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', '<unknown>')
})

t.test('both zeros are one number, and the text of a next column does not matter', async t => {
  t.equal(columnPlace('number', -0, false), columnPlace('number', 0, false))
  const [a, ab] = ['a', 'ab'].map(text => columnPlace('text', text, false))
  t.ok(
    placeOf(`${a}${columnPlace('text', 'z', false)}`, keyFromText('k')) <
      placeOf(ab!, keyFromText('a')),
  )
})

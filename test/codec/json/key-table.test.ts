import t from 'tap'
import { KeyTable } from '../../../lib/codec/json/key-table.ts'
import { inputOf } from '../../../lib/go/json/strings.ts'

/** Names that differ where the hash does not look: it takes the ends and the middle. */
const names = Array.from(
  { length: 5_000 },
  (_, i) => `aaaaaaa${String(i).padStart(8, '0')}aaaaaaaaaaaaaaaaaaaaaaaa`,
)

t.test('keys that were chosen to share a place are found without comparing them all', async t => {
  const table = new KeyTable(names.map((name, i) => [name, i]))
  let compared = 0
  for (const [i, name] of names.entries()) {
    const { bytes, view } = inputOf(Buffer.from(name))
    const getInt32 = (at: number, isLittle?: boolean): number => {
      compared++
      return view.getInt32(at, isLittle)
    }
    const counted = { bytes, view: { getInt32, getUint8: view.getUint8.bind(view) } as DataView }
    t.equal(table.find(counted, 0, bytes.length), i)
  }
  t.ok(compared < 100 * names.length, `${compared} words were compared`)
  const other = inputOf(Buffer.from('ä'))
  t.equal(table.find(other, 0, other.bytes.length), undefined)
})

t.test('names of any letters are found among such keys', async t => {
  const table = new KeyTable([...names, 'größe', '__proto__'].map((name, i) => [name, i]))
  for (const [i, name] of ['größe', '__proto__'].entries()) {
    const input = inputOf(Buffer.from(name))
    t.equal(table.find(input, 0, input.bytes.length), names.length + i)
  }
})

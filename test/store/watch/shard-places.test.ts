import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { type HighRange, ShardPlaces } from '../../../lib/store/watch/shard-places.ts'

const place = 2 ** 16

function found(places: ShardPlaces<string>, high: number): string[] {
  const names = new Set<string>()
  places.each(high, name => names.add(name))
  return [...names].sort()
}

t.test('a hash finds the audiences whose ranges it is in, whatever came and went', async t => {
  const random = createRandom(3)
  const places = new ShardPlaces<string>()
  const kept = new Map<string, readonly HighRange[]>()
  const bound = (): number => Math.floor(random.next() * place) * place
  for (let i = 0; i < 600; i++) {
    const name = `audience ${i % 40}`
    const old = kept.get(name)
    if (old === undefined) {
      const ranges = Array.from({ length: 1 + (i % 3) }, () => {
        const [a, b] = [bound(), bound()]
        return { start: Math.min(a, b), end: Math.max(a, b) + place - 1 }
      })
      kept.set(name, ranges)
      places.add(name, ranges)
    } else {
      kept.delete(name)
      places.delete(name, old)
    }
    const high = Math.floor(random.next() * 2 ** 32)
    const isIn = ({ start, end }: HighRange): boolean => start <= high && high <= end
    const expected = [...kept].filter(([, ranges]) => ranges.some(isIn)).map(([one]) => one)
    t.strictSame(found(places, high), expected.sort())
  }
  for (const [name, ranges] of kept) places.delete(name, ranges)
  t.ok(places.isEmpty, 'nothing is left')
})

t.test('an event costs the audiences of its shard only', async t => {
  const places = new ShardPlaces<string>()
  const shards = 1_000
  for (let i = 0; i < shards; i++) {
    const start = Math.floor((i * 2 ** 32) / shards)
    places.add(`${i}`, [{ start, end: Math.floor(((i + 1) * 2 ** 32) / shards) - 1 }])
  }
  for (const high of [0, 1, 2 ** 31, 2 ** 32 - 1, 123_456_789]) {
    // Bounds are rounded outwards, so its neighbour may be asked, too.
    t.ok(found(places, high).includes(`${Math.floor((high * shards) / 2 ** 32)}`))
    t.ok(found(places, high).length <= 2)
  }
  let all = 0
  places.all(() => all++)
  t.ok(all >= shards, 'all are found for an object that cannot be hashed')
})

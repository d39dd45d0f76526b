import t from 'tap'
import { HeapRoom, roomLeastBytes, roomMostBytes } from '../../../lib/cli/commands/heap-room.ts'

const alive = 100 * 1024 ** 2

/** Whole collections at these intervals. */
function roomAfter(room: HeapRoom, intervalsMs: readonly number[], fromMs = 0): number {
  let atMs = fromMs
  for (const ms of intervalsMs) room.collected((atMs += ms), alive)
  return atMs
}

t.test('a process that is seldom collected keeps little garbage', t => {
  const room = new HeapRoom()
  roomAfter(room, [60_000, 60_000])
  t.equal(room.bytes, roomLeastBytes)
  t.end()
})

t.test('a busy one gets room, and gives it back when it has little to do', t => {
  const room = new HeapRoom()
  const atMs = roomAfter(room, [1_000, 1_000, 1_000])
  t.equal(room.bytes, roomMostBytes)
  const later = roomAfter(room, [10_000], atMs)
  t.equal(room.bytes, roomMostBytes, 'in between nothing changes')
  roomAfter(room, [60_000, 60_000], later)
  t.equal(room.bytes, roomLeastBytes)
  t.end()
})

t.test('the larger the heap, the more a collection costs', t => {
  const room = new HeapRoom()
  room.collected(10_000, 10 * alive)
  t.equal(room.bytes, 2 * roomLeastBytes)
  t.end()
})

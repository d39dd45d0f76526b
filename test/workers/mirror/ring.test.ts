import * as fc from 'fast-check'
import t from 'tap'
import { createRingMemory, RingReader, RingWriter } from '../../../lib/workers/mirror/ring.ts'

const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constant('read' as const)))

t.test('a ring gives every record once, in order, and refuses what it has no room for', t => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 0, max: 7 }), (steps, before) => {
      const memory = createRingMemory(256)
      const [writer, reader] = [new RingWriter(memory), new RingReader(memory)]
      const written: string[] = []
      const read: string[] = []
      // Begins at different places, so that records meet the end.
      for (let i = 0; i < before; i++) {
        writer.append(Buffer.alloc(29))
        reader.next()
        reader.release()
      }
      const readOne = (): boolean => {
        const record = reader.next()
        if (record === undefined) return false
        read.push(reader.bytes.toString('latin1', record.start, record.end))
        reader.release()
        return true
      }
      for (const [i, step] of steps.entries()) {
        if (step === 'read') readOne()
        else if (writer.hasRoom(step)) {
          const text = String(i).padEnd(step, '.').slice(0, step)
          written.push(text)
          writer.append(Buffer.from(text))
        } else if (reader.isEmpty) return false
      }
      while (readOne());
      return JSON.stringify(read) === JSON.stringify(written) && !writer.isPending
    }),
  )
  t.end()
})

t.test('the side that waits is told, once', t => {
  const memory = createRingMemory(64)
  const [writer, reader] = [new RingWriter(memory), new RingReader(memory)]
  t.ok(reader.sleep(), 'an empty ring lets its reader sleep')
  writer.append(Buffer.alloc(16))
  t.ok(writer.takeSleeper(), 'who is to be woken')
  t.notOk(writer.takeSleeper())
  t.notOk(reader.sleep(), 'but not while there is something to read')
  while (writer.hasRoom(16)) writer.append(Buffer.alloc(16))
  const told: boolean[] = []
  while (reader.next() !== undefined) told.push(reader.release())
  t.equal(told.filter(Boolean).length, 1, 'a full ring tells its writer of room')
  t.end()
})

t.test('a reader that would pass its writer ends its process', async t => {
  const memory = createRingMemory(256)
  const [writer, reader] = [new RingWriter(memory), new RingReader(memory)]
  writer.append(Buffer.alloc(29))
  const record = reader.next()
  // What no writer writes: a length beyond what there is.
  reader.bytes.writeUInt32LE(200, (record?.start ?? 4) - 4)
  reader.next()
  t.throws(() => reader.release(), { name: 'AssertionError', message: /never passes its writer/ })
})

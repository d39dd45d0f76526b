/** Copies of a mirror in the same thread, whose records and messages arrive at once. */

import type { Clock } from '../../../lib/base/clock.ts'
import type { Key } from '../../../lib/base/keys.ts'
import { noMetrics } from '../../../lib/cache/mirror/metrics.ts'
import type { Mirror } from '../../../lib/cache/mirror/mirror.ts'
import { MirrorSet } from '../../../lib/cache/mirror/mirror-set.ts'
import type { MirrorSink } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import type { OwnMirrors } from '../../../lib/cache/mirror/mirrors.ts'
import { WorkerMirrors } from '../../../lib/workers/mirror/worker-mirrors.ts'
import { type FedWorker, MirrorSide } from '../../../lib/workers/mirror/mirror-side.ts'
import type { AnswerMessage } from '../../../lib/workers/mirror/messages.ts'
import { RemoteClients } from '../../../lib/workers/mirror/remote-client.ts'
import { createRingMemory, RingReader, RingWriter } from '../../../lib/workers/mirror/ring.ts'
import { SlabShelf } from '../../../lib/workers/mirror/slabs.ts'
import { historyBounds, RecordingSink } from './mirror-builders.ts'

export interface CopiesFixture {
  readonly mirrorSide: MirrorSide
  readonly copies: WorkerMirrors
  readonly fed: FedWorker
  /** Answers that the thread was told, beside records. */
  readonly answers: readonly AnswerMessage[]
}

export async function createCopies(
  mirror: Mirror,
  clock: Clock & { advance(ms: number): Promise<void> },
  keyspaceOf: (key: Key) => string | undefined,
): Promise<CopiesFixture> {
  const mirrorSide = new MirrorSide({
    mirrors: new MirrorSet([mirror]),
    clients: [],
    keyspaceOf,
    clock,
  })
  const fixture = { ...attachCopies(mirrorSide, clock), mirrorSide }
  await clock.advance(0)
  return fixture
}

/** The main thread's side of mirrors, which has to be told what the sink of the mirrors is told. */
export function mirrorSideOf(mirrors: OwnMirrors, clock: Clock): MirrorSide {
  return new MirrorSide({ mirrors, clients: [], keyspaceOf: () => undefined, clock })
}

/** A thread's copies, which have started. */
export function attachCopies(
  mirrorSide: MirrorSide,
  clock: Clock,
  sink: MirrorSink = new RecordingSink(),
  isWatched?: (keyspace: Key) => boolean,
): Omit<CopiesFixture, 'mirrorSide'> {
  const memory = createRingMemory(65_536)
  const shelf = new SlabShelf(() => {})
  const answers: AnswerMessage[] = []
  const ask = (question: Parameters<FedWorker['ask']>[0]): void => fed.ask(question)
  const copies = new WorkerMirrors({
    memory: mirrorSide.memory,
    ring: new RingReader(memory),
    shelf,
    takeRecord: () => memory,
    ask,
    clients: new RemoteClients(ask),
    clock,
    metrics: noMetrics,
    sink,
    history: historyBounds,
    isWatched,
  })
  const fed: FedWorker = mirrorSide.attach({
    ring: new RingWriter(memory),
    sendSlab: (id, slab) => shelf.add(id, slab),
    sendRecord: () => {},
    wake: () => void copies.readRing(),
    send: answer => {
      answers.push(answer)
      copies.answered(answer)
    },
  })
  copies.start()
  return { copies, fed, answers }
}

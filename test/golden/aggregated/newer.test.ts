/** Replays the recordings of an aggregated API server that is built on Kubernetes 1.37, with the
 *  feature gate of shards off and on, through a sidecar. */

import t, { type Test } from 'tap'
import { moment } from '../../support/http/moment.ts'
import { patient } from '../../support/patience.ts'
import type { Exchange } from '../load.ts'
import { replayWatches } from '../watch-replay.ts'
import { asked, replay, streamEncoding, usualPrefix, zippedStream } from './reads.ts'
import { readRecording } from './recording.ts'
import { learnt, startWorld, type World } from './world.ts'

t.setTimeout(patient(120_000))

function isStream({ area }: Exchange): boolean {
  return area === 'streaming-gzip'
}

for (const { variant, hasShards, passed } of [
  { variant: '0.37', hasShards: false, passed: [] },
  // Pages: this server does not say how many objects are left, and others do.
  { variant: '0.37-shards', hasShards: true, passed: ['pass; reason=form'] },
] as const) {
  const recording = readRecording(variant)
  const worldOf = async (t: Test): Promise<World> => {
    const world = await startWorld(t, recording, {
      prefix: usualPrefix,
      hasShards,
      before: zippedStream,
    })
    // There are objects of both kinds then.
    await world.writer.writeUpTo(29)
    await learnt(world, ['flunders', 'fischers'])
    return world
  }

  t.test(`a server built on 1.37 and a sidecar answer alike (${variant})`, async t => {
    const world = await worldOf(t)
    while ((await streamEncoding(world)) !== 'gzip') await moment()
    const streams = recording.exchanges.filter(isStream)
    const figures = await replay(
      t,
      world,
      recording.exchanges.filter(one => !isStream(one)),
    )
    t.strictSame([...figures.reasons.keys()], passed)
    // Each takes a second.
    const streamed = await Promise.all(streams.map(one => replay(t, world, [one])))
    t.ok(streamed.every(({ mirrored }) => mirrored === 1))
  })

  t.test(`a server built on 1.37 and a sidecar send the same frames (${variant})`, async t => {
    const world = await worldOf(t)
    const watches = recording.watches.map(asked)
    await replayWatches(t, world, { watches, writer: world.writer, exceptions: {} })
  })
}

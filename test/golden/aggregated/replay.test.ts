/** Replays the recordings of an aggregated API server through a sidecar: what is stored is answered
 *  from the mirror byte for byte, and everything else by the server. */

import t from 'tap'
import { moment } from '../../support/http/moment.ts'
import { patient } from '../../support/patience.ts'
import { replayWatches } from '../watch-replay.ts'
import { asked, replay, streamEncoding, usualPrefix, zippedStream } from './reads.ts'
import { readRecording, type Variant, variants } from './recording.ts'
import { learnt, startWorld } from './world.ts'

/** The areas of the server's first moments, and of reads by users whom the sidecar would have to
 *  know: see test/e2e/sidecar.test.ts. */
const otherAreas = new Set(['starting', 'write', 'aggregator'])

t.setTimeout(patient(120_000))

t.test('what is stored is answered from the mirror, and the rest by the server', async t => {
  const recording = readRecording('default')
  const world = await startWorld(t, recording, { prefix: usualPrefix })
  const reads = recording.exchanges.filter(
    ({ area, user }) => !otherAreas.has(area) && user === 'front-admin',
  )
  // A sidecar that has been there for a while: it keeps the revisions that are asked for.
  await world.writer.writeUpTo(14)
  await learnt(world, ['flunders', 'fischers'])
  const figures = await replay(t, world, reads)
  t.strictSame(
    [...figures.reasons.keys()].sort(),
    [
      'pass; reason=impersonation',
      'pass; reason=inexact',
      'pass; reason=media-type',
      'pass; reason=revision-not-kept',
    ],
    'objects that somebody else wrote, protobuf, impersonation, and what was before us pass',
  )
  t.ok(figures.mirrored / figures.stored >= 0.94, `${figures.mirrored} of ${figures.stored}`)
  // Lists of the other version pass if one of their objects is converted.
  t.ok(figures.othersMirrored >= 30, `${figures.othersMirrored} of ${figures.others}`)
})

/** The watches that are not sent as recorded, each with the reason why that is right. */
const watchExceptions: Readonly<Record<string, string>> = {
  'pub-agg-w016': 'which of two equal watches gets the columns again is a race in the server',
  'pub-agg-w089': 'how far back a watch reaches depends on when the cache of the server began',
}

t.test('recorded watches get the same frames', async t => {
  const recording = readRecording('default')
  const world = await startWorld(t, recording, { prefix: usualPrefix })
  await world.writer.writeUpTo(12)
  await learnt(world, ['flunders', 'fischers'])
  const watches = recording.watches.filter(
    ({ area, user }) => !otherAreas.has(area) && user === 'front-admin',
  )
  await replayWatches(t, world, {
    watches: watches.map(asked),
    writer: world.writer,
    exceptions: watchExceptions,
  })
})

t.test('streaming lists are compressed once the server was seen to compress them', async t => {
  const world = await startWorld(t, readRecording('default'), {
    prefix: usualPrefix,
    before: zippedStream,
  })
  await world.writer.writeUpTo(12)
  await learnt(world, ['flunders'])
  t.equal(await streamEncoding(world), '', 'its version is not known')
  while ((await streamEncoding(world)) !== 'gzip') await moment()
})

for (const variant of variants) {
  t.test(`so it is with the flags of ${variant}`, async t => {
    const recording = readRecording(variant)
    const world = await startWorld(t, recording, {
      prefix: prefixOf(variant),
      hasWatchCache: variant !== 'no-watch-cache',
    })
    const figures = await replay(t, world, recording.exchanges)
    t.strictSame([...figures.reasons.keys()], ['pass; reason=media-type'], 'protobuf passes')
    t.equal(figures.othersMirrored, 10)
  })
}

function prefixOf(variant: Variant): string {
  return variant === 'prefix' ? '/registry/apps.example' : usualPrefix
}

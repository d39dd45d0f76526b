import t from 'tap'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startServed } from '../support/http/served.ts'
import { recordingOf } from './load.ts'
import { HistoryWriter, readsOf, replayReads } from './replay.ts'
import { replayWatches } from './watch-replay.ts'
import { replayWrites } from './write-replay.ts'
import { patient } from '../support/patience.ts'

/** Recorded requests that are answered differently, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-shards-0058': 'computed by asking other processes how they are',
  'pub-shards-0059': 'computed by asking other processes how they are',
  'pub-shards-0192': 'a user who may not do this, which is up to authorization',
  'pub-shards-0193': 'a user who may not do this, which is up to authorization',
  'pub-shards-0196': 'a user who may not do this, which is up to authorization',
  'pub-shards-0197': 'a user who may not do this, which is up to authorization',
  'pub-shards-0198': 'a user who may not do this, which is up to authorization',
  'pub-shards-0230': 'a subresource, which needs an upstream',
  'pub-shards-off-0034': 'a user who may not do this, which is up to authorization',
}

/** A revision that never comes is waited for: not as long as in earnest. */
const limits = { ...defaultLimits, readWaitMaxMs: patient(300) }

for (const { name, hasShards } of [
  { name: 'shards', hasShards: true },
  { name: 'shards/off', hasShards: false },
]) {
  const recording = recordingOf(name)
  const address = String(recording.exchanges()[0]?.request.headers['Host'])
  const options = { address, limits, hasShards }
  const writes = recording.exchanges().filter(({ flags }) => flags.includes('write'))

  t.test(`a kube-apiserver and we answer the reads of ${name} with the same bytes`, async t => {
    const served = await startServed(t, options)
    const asked = readsOf(recording, new Set()).filter(one => !one.flags.includes('write'))
    await replayReads(t, served, { recording, asked, exceptions, version: '1.1' })
  })

  t.test(`a kube-apiserver and we send the watches of ${name} the same frames`, async t => {
    const served = await startServed(t, options)
    const writer = new HistoryWriter(served.client, recording)
    await replayWatches(t, served, { watches: recording.watches(), writer, exceptions })
  })

  t.test(`a kube-apiserver and we delete the collections of ${name} alike`, async t => {
    await replayWrites(t, { recording, asked: writes, exceptions, options })
  })
}

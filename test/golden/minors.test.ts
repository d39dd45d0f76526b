import t from 'tap'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startServed } from '../support/http/served.ts'
import { type Recorded, recordingOf } from './load.ts'
import { HistoryWriter, readsOf, replayReads } from './replay.ts'
import { replayWatches } from './watch-replay.ts'
import { patient } from '../support/patience.ts'

/** The recorded requests that are answered differently here, each with the reason. */
const exceptions: readonly (readonly [of: (recorded: Recorded) => boolean, reason: string])[] = [
  [({ request }) => request.path.includes('/log?'), 'a subresource, which needs an upstream'],
  [
    ({ request }) => request.path.startsWith('/api/v1/componentstatuses'),
    'computed by asking other processes how they are',
  ],
  [
    ({ area, request }) =>
      area === 'watch' && String(request.headers['Accept']).endsWith('as=Table;v=v1;g=meta.k8s.io'),
    'which of two equal watches gets the columns again is a race in the server',
  ],
  [
    ({ flags, response }) => flags.includes('cache-window') && response.status === 200,
    'how far back a watch reaches depends on when the cache began',
  ],
]

function exceptionsAmong(recorded: readonly Recorded[]): Record<string, string> {
  return Object.fromEntries(
    recorded.flatMap(one => {
      const found = exceptions.find(([isOne]) => isOne(one))
      return found === undefined ? [] : [[one.id, found[1]] as const]
    }),
  )
}

/** A revision that never comes is waited for: not as long as in earnest. */
const limits = { ...defaultLimits, readWaitMaxMs: patient(300) }

for (const minor of ['1.33', '1.34', '1.35']) {
  const recording = recordingOf(minor)
  const schema = schemaOf(minor)
  const address = String(recording.exchanges()[0]?.request.headers['Host'])

  t.test(`a kube-apiserver ${minor} and we answer recorded reads with the same bytes`, async t => {
    const served = await startServed(t, { schema, address, limits })
    const asked = readsOf(recording, new Set(['auth', 'write']))
    const excepted = exceptionsAmong(asked)
    await replayReads(t, served, { recording, asked, exceptions: excepted, version: '1.1' })
  })

  t.test(`a kube-apiserver ${minor} and we send recorded watches the same frames`, async t => {
    const served = await startServed(t, { schema, address, limits })
    const watches = recording.watches()
    const writer = new HistoryWriter(served.client, recording)
    await replayWatches(t, served, { watches, writer, exceptions: exceptionsAmong(watches) })
  })
}

import t from 'tap'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startServed } from '../support/http/served.ts'
import { golden } from './load.ts'
import { HistoryWriter } from './replay.ts'
import { restartedAt, watchExceptions as exceptions } from './watch-exceptions.ts'
import { replayWatches } from './watch-replay.ts'
import { patient } from '../support/patience.ts'

t.test(
  'a kube-apiserver and we send every recorded watch the same frames in the same order',
  async t => {
    const limits = { ...defaultLimits, readWaitMaxMs: patient(500) }
    const first = await startServed(t, { limits })
    const start = () => startServed(t, { limits, client: first.client })
    const restart = { at: restartedAt, start }
    const writer = new HistoryWriter(first.client)
    await replayWatches(t, first, { watches: golden.watches(), writer, exceptions, restart })
  },
)

import t from 'tap'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startServed } from '../support/http/served.ts'
import { golden } from './load.ts'
import { HistoryWriter } from './replay.ts'
import { replayWatches } from './watch-replay.ts'
import { patient } from '../support/patience.ts'

/** The recorded requests that are answered differently here, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-w132': 'a user who may not do this, which is up to authorization',
  'pub-w133': 'a user who may not do this, which is up to authorization',
  'pub-w148': 'a 429 while a cache starts, which ours had done',
  'pub-w149': 'the oldest revision of a cache that was made three revisions later than ours',
}

/** The revision at which the recorded server was started again: its history depends on when it was
 *  started. */
const restartedAt = 796

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

import t from 'tap'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { startServed } from '../support/http/served.ts'
import { recordingOf } from './load.ts'
import { replayReads } from './replay.ts'

/** The cases that other recordings lack: forms that etcd may hold, and requests that few clients
 *  make. Each row of behaviours.json that one of these minors tells from another is noticed here or
 *  in minors.test.ts (`npm run mutate`). */
for (const minor of ['1.33', '1.34', '1.35', '1.36']) {
  const recording = recordingOf(`cases/${minor}`)

  t.test(
    `a kube-apiserver ${minor} and we answer the further cases with the same bytes`,
    async t => {
      const asked = recording.exchanges()
      const address = String(asked[0]?.request.headers['Host'])
      const served = await startServed(t, { schema: schemaOf(minor), address })
      await replayReads(t, served, {
        recording,
        asked,
        exceptions: {},
        version: '1.1',
        hasGaps: true,
      })
    },
  )
}

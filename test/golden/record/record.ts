/** Records a server from its start to its end. */

import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { type Version, writeRecording } from './files.ts'
import { RecordedHistory } from './history.ts'
import { makeObjects } from './objects.ts'
import type { Part } from './questions/part.ts'
import { Recorder } from './recorder.ts'
import { type Sender, send } from './send.ts'
import { checkBinaries, type ServerOptions, settled, startServer } from './server.ts'
import { makeSteps } from './steps.ts'

export interface RecordOptions extends ServerOptions {
  /** The folder that the recording goes into. */
  readonly out: string
  readonly parts: readonly Part[]
  readonly progress: (message: string) => void
}

export interface Recorded {
  readonly exchanges: number
  readonly watches: number
  readonly events: number
  readonly setupErrors: readonly string[]
}

/** Everything that it starts is stopped, and its files are removed, at the end of `scope`. */
export async function record(scope: Teardown, options: RecordOptions): Promise<Recorded> {
  const { parts, progress, out } = options
  checkBinaries(options)
  const server = await startServer(scope, options)
  const history = new RecordedHistory(server.etcdEndpoints)
  scope.teardown(() => history.close())
  await settled(() => history.revisionNow())
  const version = await versionOf(server)
  progress(`${version.gitVersion} is ready`)
  const recorder = new Recorder(`rec-${version.major}.${version.minor}`, server, history)
  await makeObjects(recorder)
  await makeSteps(recorder)
  progress(`it has its objects, at revision ${await history.revisionNow()}`)
  for (const part of parts) {
    const before = recorder.exchanges.length + recorder.watches.length
    await part.ask(recorder)
    const asked = recorder.exchanges.length + recorder.watches.length - before
    progress(`${part.name}: ${asked} questions`)
  }
  const featureGates = await featureGatesOf(server)
  await writeRecording(out, { recorder, server, version, featureGates })
  return {
    exchanges: recorder.exchanges.length,
    watches: recorder.watches.length,
    events: history.lines.length,
    setupErrors: recorder.setupErrors,
  }
}

async function versionOf(server: Sender): Promise<Version> {
  const { bytes } = await send(server, { path: '/version' })
  const { major, minor, gitVersion } = JSON.parse(bytes.toString('utf8')) as Version
  return { major, minor, gitVersion }
}

/** Its feature gates as /metrics shows them. */
async function featureGatesOf(server: Sender): Promise<object> {
  const { bytes } = await send(server, { path: '/metrics' })
  const lines = bytes
    .toString('utf8')
    .matchAll(/^kubernetes_feature_enabled\{name="([^"]+)",stage="([^"]*)"\} (\d)/gm)
  return Object.fromEntries(
    [...lines].map(([, name = '', stage = '', enabled]) => [
      name,
      { stage: stage === '' ? 'GA' : stage, enabled: enabled === '1' },
    ]),
  )
}

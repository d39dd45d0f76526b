/** Everything that `npm start` makes up, walked through as a newcomer does, with kubectl. */

import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { patient } from '../support/patience.ts'
import { serveHere } from '../support/program/serve-here.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-simulated-'))
const run = promisify(execFile)

type Kubectl = (...args: string[]) => Promise<string>

async function startCluster(t: Test): Promise<Kubectl> {
  const { address } = await serveHere(t, [
    '--generate=pods=60,deployments=6,nodes=4,namespaces=1',
    '--churn=10/s',
    '--simulate=all',
  ])
  const env = { PATH: process.env['PATH'] ?? '', HOME: home }
  return async (...args) =>
    (await run(binary, ['--server', address, '-n', 'default', ...args], { env })).stdout
}

t.test('deployments that were generated are scaled, restarted and drained', { skip }, async t => {
  const kubectl = await startCluster(t)
  const [first = '', second = ''] = (await kubectl('get', 'deployments', '-o', 'name')).split('\n')
  const timeout = `--timeout=${patient(60_000)}ms`
  const rolledOut = (name: string): Promise<string> => kubectl('rollout', 'status', name, timeout)

  await kubectl('scale', first, '--replicas=3')
  // To kubectl a rollout has succeeded while there are more pods than asked for.
  const isScaled = '--for=jsonpath={.status.readyReplicas}=3'
  t.match(await kubectl('wait', first, isScaled, timeout), /condition met/)
  t.match(await rolledOut(first), /successfully rolled out/)
  await kubectl('scale', first, '--replicas=5')
  t.match(await rolledOut(first), /successfully rolled out/)

  await kubectl('rollout', 'restart', second)
  t.match(await rolledOut(second), /successfully rolled out/)
})

/** A process that runs the controller of gadgets while it leads: `candidate.js ADDRESS IDENTITY`.
 *  It tells its parent how many statuses it has patched, and answers any message with what it
 *  knows. It ends when its parent does. */

import { KubeConfig } from '@kubernetes/client-node'
import { Controller } from './controller.ts'
import { type Gadget, leaseName } from './gadgets.ts'
import { LeaderElection } from './leader-election.ts'

/** A candidate's report. */
export interface Report {
  readonly isLeading: boolean
  readonly patches: number
  readonly retries: number
  readonly restarts: number
  /** Gadgets of its informer; only when asked for. */
  readonly gadgets?: readonly Gadget[] | undefined
}

const [, , server = '', identity = ''] = process.argv
const config = new KubeConfig()
config.loadFromClusterAndUser({ name: 'test', server, skipTLSVerify: true }, { name: identity })
let isLeading = false
const controller = new Controller(config, identity, patches => {
  if (patches % 20 === 0) tell(report())
})
const election = new LeaderElection(config, leaseName, identity)
process.on('message', () => tell({ ...report(), gadgets: controller.gadgets }))
process.on('disconnect', () => process.exit())
await controller.start()
for (;;) {
  await election.won()
  isLeading = true
  tell(report())
  await controller.work(election.lost())
  isLeading = false
}

function report(): Report {
  const { patches, retries, restarts } = controller
  return { isLeading, patches, retries, restarts }
}

function tell(report: Report): void {
  if (process.connected) process.send?.(report)
}

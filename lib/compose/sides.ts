/** The wings: the only place that loads their code. A service or a command loads what its options
 *  ask for, so that nobody waits for, or reads, what is not asked for: without writes a process
 *  starts a quarter sooner. Everywhere else in compose/ and commands/ wings are types. */

import type * as accountKeys from '../cluster/access/account-keys.ts'
import type * as staticTokens from '../cluster/access/token-file.ts'
import type * as pluginNames from '../cluster/admission/plugin-names.ts'
import type * as authority from '../cluster/authority/authority.ts'
import type * as faultControl from '../cluster/faults/fault-control.ts'
import type * as faultRules from '../cluster/faults/rule.ts'
import type * as anonymizer from '../cluster/generate/anonymize.ts'
import type * as generator from '../cluster/generate/generator.ts'
import type * as foreignRecordings from '../cluster/recordings/foreign.ts'
import type * as movedTimes from '../cluster/generate/move-times.ts'
import type * as stages from '../cluster/stages/stage.ts'
import type * as builtInStages from '../cluster/stages/built-in.ts'
import type * as podRules from '../cluster/pod-rules/pod-rules.ts'
import type * as writeSide from '../cluster/write-side.ts'
import type * as etcdDoor from '../door/etcd-door.ts'
import type * as embedded from '../door/embedded.ts'
import type * as upstreamSide from '../front/front.ts'
import type * as upstreamServers from '../front/upstream/connect.ts'
import type * as upstreamFailure from '../front/upstream/failure.ts'
import type * as threads from '../threads/threads.ts'
import type { WingOptions } from './service-options.ts'

/** Loads a part of a wing. */
export const wings = {
  // cluster
  writeSide: (): Promise<typeof writeSide> => import('../cluster/write-side.ts'),
  faults: (): Promise<typeof faultControl> => import('../cluster/faults/fault-control.ts'),
  faultRules: (): Promise<typeof faultRules> => import('../cluster/faults/rule.ts'),
  staticTokens: (): Promise<typeof staticTokens> => import('../cluster/access/token-file.ts'),
  accountKeys: (): Promise<typeof accountKeys> => import('../cluster/access/account-keys.ts'),
  authority: (): Promise<typeof authority> => import('../cluster/authority/authority.ts'),
  pluginNames: (): Promise<typeof pluginNames> => import('../cluster/admission/plugin-names.ts'),
  generator: (): Promise<typeof generator> => import('../cluster/generate/generator.ts'),
  anonymizer: (): Promise<typeof anonymizer> => import('../cluster/generate/anonymize.ts'),
  foreignRecordings: (): Promise<typeof foreignRecordings> =>
    import('../cluster/recordings/foreign.ts'),
  movedTimes: (): Promise<typeof movedTimes> => import('../cluster/generate/move-times.ts'),
  stages: (): Promise<typeof stages> => import('../cluster/stages/stage.ts'),
  podRules: (): Promise<typeof podRules> => import('../cluster/pod-rules/pod-rules.ts'),
  builtInStages: (): Promise<typeof builtInStages> => import('../cluster/stages/built-in.ts'),
  // front
  upstreamSide: (): Promise<typeof upstreamSide> => import('../front/front.ts'),
  upstreamServers: (): Promise<typeof upstreamServers> => import('../front/upstream/connect.ts'),
  upstreamFailure: (): Promise<typeof upstreamFailure> => import('../front/upstream/failure.ts'),
  // threads
  threads: (): Promise<typeof threads> => import('../threads/threads.ts'),
  // door
  etcdDoor: (): Promise<typeof etcdDoor> => import('../door/etcd-door.ts'),
  embedded: (): Promise<typeof embedded> => import('../door/embedded.ts'),
}

/** The wings that a service with some options has; undefined where it does not have one. */
export interface Sides {
  readonly createWriteSide: typeof writeSide.createWriteSide | undefined
  readonly Threads: typeof threads.Threads | undefined
  readonly Front: typeof upstreamSide.Front | undefined
  /** Undefined as long as there are no rules (`faults.ts`). */
  readonly FaultControl: typeof faultControl.FaultControl | undefined
}

export async function loadSides(asked: WingOptions = {}): Promise<Sides> {
  const { writes, threads, upstream, faults } = asked
  const hasRules = faults !== undefined && faults.rules.length > 0
  const [cluster, front, several, rules] = await Promise.all([
    writes === undefined ? undefined : wings.writeSide(),
    upstream === undefined ? undefined : wings.upstreamSide(),
    threads === undefined ? undefined : wings.threads(),
    hasRules ? wings.faults() : undefined,
  ])
  return {
    createWriteSide: cluster?.createWriteSide,
    Threads: several?.Threads,
    Front: front?.Front,
    FaultControl: rules?.FaultControl,
  }
}

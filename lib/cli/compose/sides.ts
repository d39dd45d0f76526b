/** The wings: the only place that loads their code. A service or a command loads what its options
 *  ask for, so that nobody waits for, or reads, what is not asked for: without writes a process
 *  starts a quarter sooner. Everywhere else in compose/ and commands/ wings are types. */

import type * as accountKeys from '@watchglass/simulator/access/account-keys'
import type * as staticTokens from '@watchglass/simulator/access/token-file'
import type * as pluginNames from '@watchglass/writes/admission/plugin-names'
import type * as authority from '@watchglass/simulator/authority/authority'
import type * as faultControl from '@watchglass/simulator/faults/fault-control'
import type * as faultRules from '@watchglass/simulator/faults/rule'
import type * as anonymizer from '@watchglass/simulator/generate/anonymize'
import type * as generator from '@watchglass/simulator/generate/generator'
import type * as foreignRecordings from '@watchglass/simulator/recordings/foreign'
import type * as movedTimes from '@watchglass/simulator/generate/move-times'
import type * as stages from '@watchglass/simulator/stages/stage'
import type * as builtInStages from '@watchglass/simulator/stages/built-in'
import type * as podRules from '@watchglass/simulator/pod-rules/pod-rules'
import type * as writeSide from '@watchglass/simulator/write-side'
import type * as etcdDoor from '@watchglass/etcd-server/etcd-door'
import type * as embedded from '@watchglass/etcd-server/embedded'
import type * as upstreamSide from '@watchglass/proxy/upstream-proxy'
import type * as upstreamServers from '@watchglass/proxy/upstream/connect'
import type * as upstreamFailure from '@watchglass/proxy/upstream/failure'
import type * as apiMirrors from '@watchglass/source/api-mirrors'
import type * as workers from '@watchglass/workers/workers'
import type { WingOptions } from './service-options.ts'

/** Loads a part of a wing. */
export const wings = {
  // cluster
  writeSide: (): Promise<typeof writeSide> => import('@watchglass/simulator/write-side'),
  faults: (): Promise<typeof faultControl> => import('@watchglass/simulator/faults/fault-control'),
  faultRules: (): Promise<typeof faultRules> => import('@watchglass/simulator/faults/rule'),
  staticTokens: (): Promise<typeof staticTokens> =>
    import('@watchglass/simulator/access/token-file'),
  accountKeys: (): Promise<typeof accountKeys> =>
    import('@watchglass/simulator/access/account-keys'),
  authority: (): Promise<typeof authority> => import('@watchglass/simulator/authority/authority'),
  pluginNames: (): Promise<typeof pluginNames> =>
    import('@watchglass/writes/admission/plugin-names'),
  generator: (): Promise<typeof generator> => import('@watchglass/simulator/generate/generator'),
  anonymizer: (): Promise<typeof anonymizer> => import('@watchglass/simulator/generate/anonymize'),
  foreignRecordings: (): Promise<typeof foreignRecordings> =>
    import('@watchglass/simulator/recordings/foreign'),
  movedTimes: (): Promise<typeof movedTimes> => import('@watchglass/simulator/generate/move-times'),
  stages: (): Promise<typeof stages> => import('@watchglass/simulator/stages/stage'),
  podRules: (): Promise<typeof podRules> => import('@watchglass/simulator/pod-rules/pod-rules'),
  builtInStages: (): Promise<typeof builtInStages> =>
    import('@watchglass/simulator/stages/built-in'),
  // proxy
  upstreamSide: (): Promise<typeof upstreamSide> => import('@watchglass/proxy/upstream-proxy'),
  upstreamServers: (): Promise<typeof upstreamServers> =>
    import('@watchglass/proxy/upstream/connect'),
  upstreamFailure: (): Promise<typeof upstreamFailure> =>
    import('@watchglass/proxy/upstream/failure'),
  // source
  apiMirrors: (): Promise<typeof apiMirrors> => import('@watchglass/source/api-mirrors'),
  // threads
  workers: (): Promise<typeof workers> => import('@watchglass/workers/workers'),
  // door
  etcdDoor: (): Promise<typeof etcdDoor> => import('@watchglass/etcd-server/etcd-door'),
  embedded: (): Promise<typeof embedded> => import('@watchglass/etcd-server/embedded'),
}

/** The wings that a service with some options has; undefined where it does not have one. */
export interface Sides {
  readonly createWriteSide: typeof writeSide.createWriteSide | undefined
  readonly Workers: typeof workers.Workers | undefined
  readonly UpstreamProxy: typeof upstreamSide.UpstreamProxy | undefined
  readonly ApiMirrors: typeof apiMirrors.ApiMirrors | undefined
  /** Undefined as long as there are no rules (`faults.ts`). */
  readonly FaultControl: typeof faultControl.FaultControl | undefined
}

export async function loadSides(asked: WingOptions = {}): Promise<Sides> {
  const { writes, workers, upstream, source, faults } = asked
  const hasRules = faults !== undefined && faults.rules.length > 0
  const [cluster, proxy, followed, several, rules] = await Promise.all([
    writes === undefined ? undefined : wings.writeSide(),
    upstream === undefined ? undefined : wings.upstreamSide(),
    source === undefined ? undefined : wings.apiMirrors(),
    workers === undefined ? undefined : wings.workers(),
    hasRules ? wings.faults() : undefined,
  ])
  return {
    createWriteSide: cluster?.createWriteSide,
    Workers: several?.Workers,
    UpstreamProxy: proxy?.UpstreamProxy,
    ApiMirrors: followed?.ApiMirrors,
    FaultControl: rules?.FaultControl,
  }
}

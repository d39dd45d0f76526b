/** The only place that loads the code of attached packages. A service or a command loads what
 *  its options ask for, so that nobody waits for, or reads, what is not asked for: without
 *  writes a process starts a quarter sooner. Everywhere else in compose/ and commands/ their
 *  code is a type. */

import type * as accountKeys from '@watchglass/simulator/access/account-keys'
import type * as accountTokens from '@watchglass/simulator/access/account-tokens'
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
import type * as apiReplica from '@watchglass/etcd-server/api-replica'
import type * as etcdReplica from '@watchglass/etcd-server/etcd-replica'
import type * as embedded from '@watchglass/etcd-server/embedded'
import type * as upstreamProxy from '@watchglass/proxy/upstream-proxy'
import type * as upstreamServers from '@watchglass/proxy/upstream/connect'
import type * as upstreamFailure from '@watchglass/proxy/upstream/failure'
import type * as apiMirrors from '@watchglass/source/api-mirrors'
import type * as viewPlaces from '@watchglass/views/cells/place'
import type * as views from '@watchglass/views/http/view-answers'
import type * as workers from '@watchglass/workers/workers'
import type { AttachedOptions } from './service-options.ts'

/** Loads a part of an attached package. */
export const load = {
  // simulator and writes
  writeSide: (): Promise<typeof writeSide> => import('@watchglass/simulator/write-side'),
  faults: (): Promise<typeof faultControl> => import('@watchglass/simulator/faults/fault-control'),
  faultRules: (): Promise<typeof faultRules> => import('@watchglass/simulator/faults/rule'),
  staticTokens: (): Promise<typeof staticTokens> =>
    import('@watchglass/simulator/access/token-file'),
  accountKeys: (): Promise<typeof accountKeys> =>
    import('@watchglass/simulator/access/account-keys'),
  accountTokens: (): Promise<typeof accountTokens> =>
    import('@watchglass/simulator/access/account-tokens'),
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
  upstreamProxy: (): Promise<typeof upstreamProxy> => import('@watchglass/proxy/upstream-proxy'),
  upstreamServers: (): Promise<typeof upstreamServers> =>
    import('@watchglass/proxy/upstream/connect'),
  upstreamFailure: (): Promise<typeof upstreamFailure> =>
    import('@watchglass/proxy/upstream/failure'),
  // source
  apiMirrors: (): Promise<typeof apiMirrors> => import('@watchglass/source/api-mirrors'),
  // views
  views: (): Promise<typeof views> => import('@watchglass/views/http/view-answers'),
  viewPlaces: (): Promise<typeof viewPlaces> => import('@watchglass/views/cells/place'),
  // workers
  workers: (): Promise<typeof workers> => import('@watchglass/workers/workers'),
  // etcd server
  apiReplica: (): Promise<typeof apiReplica> => import('@watchglass/etcd-server/api-replica'),
  etcdReplica: (): Promise<typeof etcdReplica> => import('@watchglass/etcd-server/etcd-replica'),
  embedded: (): Promise<typeof embedded> => import('@watchglass/etcd-server/embedded'),
}

/** The attached code that a service with some options has; undefined where it does not have one. */
export interface LoadedCode {
  readonly createWriteSide: typeof writeSide.createWriteSide | undefined
  readonly Workers: typeof workers.Workers | undefined
  readonly UpstreamProxy: typeof upstreamProxy.UpstreamProxy | undefined
  readonly ApiMirrors: typeof apiMirrors.ApiMirrors | undefined
  /** Undefined as long as there are no rules (`faults.ts`). */
  readonly FaultControl: typeof faultControl.FaultControl | undefined
}

export async function loadCode(asked: AttachedOptions = {}): Promise<LoadedCode> {
  const { writes, workers, upstream, source, copies, faults } = asked
  const hasRules = faults !== undefined && faults.rules.length > 0
  const [cluster, proxy, followed, several, rules] = await Promise.all([
    writes === undefined ? undefined : load.writeSide(),
    upstream === undefined ? undefined : load.upstreamProxy(),
    source === undefined || copies !== undefined ? undefined : load.apiMirrors(),
    workers === undefined ? undefined : load.workers(),
    hasRules ? load.faults() : undefined,
  ])
  return {
    createWriteSide: cluster?.createWriteSide,
    Workers: several?.Workers,
    UpstreamProxy: proxy?.UpstreamProxy,
    ApiMirrors: followed?.ApiMirrors,
    FaultControl: rules?.FaultControl,
  }
}

/** The upstream that the command line asks for. */

import type { Key, Logger } from '@watchglass/base'
import { keyPairOf } from './files.ts'
import { isUpstreamMirrored } from '../../options/etcd.ts'
import { invalid } from '../../options/invalid.ts'
import { addressIn, type ListenAddress } from '../../options/listening.ts'
import { listedValuesOf, valueOf } from '../../options/rules.ts'
import {
  adminListenOption,
  compareOption,
  compatibleWithOption,
  namespacesOption,
} from '../../options/upstream.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { upstreamConnection } from './upstream-settings.ts'
import type { ServerAccess, UpstreamOptions, UpstreamTls } from '@watchglass/proxy'
import { load } from '../../compose/loaded-code.ts'
import { authorizationOf, systemClock } from '@watchglass/cache'
import type { EtcdPlan } from './etcd-plan.ts'

export interface UpstreamUse {
  /** The upstream believes our identity headers. */
  readonly isFrontProxy: boolean
  /** The user as whom it is asked, in place of files that options name. */
  readonly user: ServerAccess | undefined
}

/** Every client is the user of a kubeconfig, but for those with credentials of their own, as with
 *  kubectl proxy. */
export const oneUser: Pick<UpstreamOptions, 'isOneUser' | 'passed'> = {
  isOneUser: true,
  passed: request =>
    authorizationOf(request) === undefined ? { as: 'ourselves', headers: {} } : undefined,
}

/** The upstream; undefined without `--upstream`. */
export async function upstreamFrom(
  values: OptionValues,
  logger: Logger,
  { isFrontProxy, user }: UpstreamUse,
): Promise<UpstreamOptions | undefined> {
  const connection = upstreamConnection(values)
  if (connection === undefined) return undefined
  const { urls, tokenFile, answerMs } = connection
  const { upstreamServers, upstreamOfUser } = await load.upstreamServers()
  const common = { clock: systemClock, logger }
  return {
    servers:
      user === undefined
        ? upstreamServers({
            ...common,
            urls,
            tokenFile,
            answerMs,
            readTls: () => tlsOf(values, isFrontProxy),
            what: 'certificates for the upstream',
          })
        : upstreamOfUser(user, common),
    isSource: isUpstreamMirrored.holds(values),
    compatibleMinors: new Set(listedValuesOf(values, compatibleWithOption)),
    compareShare: valueOf(values, compareOption),
    discoversResources: values.switch('discover-resources'),
  }
}

/** The certificates that the files hold now. */
function tlsOf(values: OptionValues, isFrontProxy: boolean): UpstreamTls {
  const { ca, own } = upstreamConnection(values) ?? {}
  const frontProxy = isFrontProxy
    ? keyPairOf(values, 'front-proxy-cert', 'front-proxy-key')
    : undefined
  return { ca, own, frontProxy }
}

/** Whether a keyspace is kept and answered from. */
export function keptOf({ cacheOnly, neverCache, excluded }: EtcdPlan): (keyspace: Key) => boolean {
  const only = cacheOnly === undefined ? undefined : new Set<string>(cacheOnly)
  const never = new Set<string>([...neverCache, ...excluded])
  return keyspace => !never.has(keyspace) && (only === undefined || only.has(keyspace))
}

/** The only namespaces that are mirrored, each once; undefined: all are. */
export function namespacesIn(values: OptionValues): readonly string[] | undefined {
  const namespaces = new Set(listedValuesOf(values, namespacesOption))
  return namespaces.size === 0 ? undefined : [...namespaces]
}

/** The address of our own paths; on a port of their own only where the upstream has them on the
 *  main one, unless asked for. */
export function adminListenOf(values: OptionValues): ListenAddress | undefined {
  const address = valueOf(values, adminListenOption)
  if (address === 'none') return undefined
  if (address === undefined) {
    return values.all('upstream').length === 0 ? undefined : addressIn('http://127.0.0.1:8002')
  }
  if (address.protocol === 'http') return address
  throw invalid('--admin-listen must be an http address: it has no certificate')
}

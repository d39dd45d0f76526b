/** `watchglass proxy`: the API of a kubeconfig's cluster on a loopback address, in place of
 *  `kubectl proxy`. Every client is the user of the kubeconfig, and reads what is mirrored with
 *  that user's rights. */

import { systemClock } from '@watchglass/cache'
import { ruleKeyspaces, specialKeyspaces } from '@watchglass/kube'
import { KubeconfigAccess, nodeSystem } from '@watchglass/kubeconfig'
import type { UpstreamOptions } from '@watchglass/proxy'
import { KubeService } from '../compose/kube-service.ts'
import { load } from '../compose/loaded-code.ts'
import { memoryOption } from '../options/process.ts'
import { portOption } from '../options/proxy.ts'
import { valueOf } from '../options/rules.ts'
import { namespacesIn, oneUser } from './plan/upstream.ts'
import type { CommandContext } from './context.ts'
import { untilAborted } from './until-aborted.ts'

/** Other machines must not be this user. */
const host = '127.0.0.1'
/** The prefix under which resources are known, as kube-apiserver stores them. */
const prefix = '/registry'

export async function proxy(context: CommandContext): Promise<number> {
  const { values, logger, signal } = context
  const port = valueOf(values, portOption)
  const access = await KubeconfigAccess.open({
    kubeconfig: values.text('kubeconfig'),
    context: values.text('context'),
    system: nodeSystem(),
    clock: systemClock,
    logger,
  })
  try {
    // A plugin that cannot be run, or asks a person to log in, does so now.
    await access.credentials()
    await serveUser(access, port, context)
  } finally {
    access.stop()
  }
  if (signal.aborted) logger.info('stopped')
  return 0
}

const [isSpecial, isRule] = [specialKeyspaces(prefix), ruleKeyspaces(prefix)]

/** Definitions say which resources there are; all else waits until somebody reads it. The rules of
 *  access are not needed, as there is one user. */
function isWantedAtStart(keyspace: string): boolean {
  return isSpecial(keyspace) && !isRule(keyspace)
}

async function serveUser(
  access: KubeconfigAccess,
  port: number,
  { values, logger, stdout, signal, onSwitch }: CommandContext,
): Promise<void> {
  const service = await KubeService.start({
    etcd: { client: undefined, prefix },
    served: { namespaces: namespacesIn(values) },
    // Names that a web page could have pointed at this machine are refused, as by kubectl proxy.
    listening: { listen: { protocol: 'http', host, port }, guardedHosts: [] },
    attached: {
      upstream: await upstreamOf(access, logger),
      source: { isWantedAtStart },
    },
    memory: { budgetBytes: valueOf(values, memoryOption) },
    logger,
  })
  onSwitch(() => service.readSwitch?.toggle())
  stdout.write(introductionOf(access, service.port))
  await untilAborted(signal)
  await service.stop()
}

async function upstreamOf(
  access: KubeconfigAccess,
  logger: CommandContext['logger'],
): Promise<UpstreamOptions> {
  const { upstreamOfUser } = await load.upstreamServers()
  return {
    servers: upstreamOfUser(access, { clock: systemClock, logger }),
    isSource: true,
    ...oneUser,
  }
}

function introductionOf(access: KubeconfigAccess, port: number): string {
  const address = `http://${host}:${port}`
  return [
    `Watchglass serves the Kubernetes API at ${address}`,
    `  as     ${access.describe()}`,
    `  first  kubectl --server ${address} get pods --all-namespaces`,
    '',
  ].join('\n')
}

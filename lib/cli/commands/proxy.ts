/** `watchglass proxy`: the API of a kubeconfig's cluster on a loopback address, in place of
 *  `kubectl proxy`. Every client is the user of the kubeconfig. */

import { systemClock } from '@watchglass/cache'
import { KubeconfigAccess, nodeSystem } from '@watchglass/kubeconfig'
import type { UpstreamOptions } from '@watchglass/proxy'
import { KubeService } from '../compose/kube-service.ts'
import { wings } from '../compose/sides.ts'
import { portOption } from '../options/proxy.ts'
import { valueOf } from '../options/rules.ts'
import type { CommandContext } from './context.ts'
import { untilAborted } from './until-aborted.ts'

/** Other machines must not be this user. */
const host = '127.0.0.1'

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

async function serveUser(
  access: KubeconfigAccess,
  port: number,
  { logger, signal }: CommandContext,
): Promise<void> {
  const { startEmbeddedEtcd } = await wings.embedded()
  const etcd = await startEmbeddedEtcd({
    listen: undefined,
    load: undefined,
    clock: systemClock,
    logger,
  })
  try {
    const service = await KubeService.start({
      etcd: { client: etcd.createClient(), prefix: '/registry' },
      // Names that a web page could have pointed at this machine are refused, as by kubectl proxy.
      listening: { listen: { protocol: 'http', host, port }, guardedHosts: [] },
      served: { isKept: () => false },
      wings: { upstream: await upstreamOf(access, logger) },
      logger,
    })
    introduceUser(access, service.port)
    await untilAborted(signal)
    await service.stop()
  } finally {
    await etcd.close()
  }
}

async function upstreamOf(
  access: KubeconfigAccess,
  logger: CommandContext['logger'],
): Promise<UpstreamOptions> {
  const { upstreamOfUser } = await wings.upstreamServers()
  const { impersonation } = access
  return {
    servers: upstreamOfUser(access, { clock: systemClock, logger }),
    isOneUser: true,
    // A client with credentials of its own is not the user, as with kubectl proxy; one that acts as
    // somebody is the user who may do that.
    passed: ({ headers }) =>
      headers.authorization === undefined
        ? { as: 'ourselves', headers: 'impersonate-user' in headers ? {} : impersonation }
        : undefined,
  }
}

function introduceUser(access: KubeconfigAccess, port: number): void {
  const address = `http://${host}:${port}`
  process.stdout.write(
    [
      `Watchglass serves the Kubernetes API at ${address}`,
      `  as     ${access.describe()}`,
      `  first  kubectl --server ${address} get pods --all-namespaces`,
      '',
    ].join('\n'),
  )
}

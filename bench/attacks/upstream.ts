/** A process of its own: the upstream of the attacked program. It checks tokens. */

import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { maps } from '../../test/support/attacks/door.ts'
import { createGuard } from '../../test/support/upstream/guard.ts'
import { configMap } from '../../test/support/upstream/proxied.ts'
import { identity } from '../../test/support/upstream/reviews.ts'
import { TestUpstream, upstreamReady } from '../../test/support/upstream/upstream.ts'

/** The order with which an upstream begins. */
export interface UpstreamOrder {
  readonly etcd: string
  readonly objects: number
}

async function start({ etcd, objects }: UpstreamOrder): Promise<string> {
  const client = new GrpcClient({ endpoints: [etcd] })
  const upstream = await TestUpstream.start({ client })
  await upstreamReady(upstream)
  for (let i = 0; i < objects; i++) {
    await upstream.create(maps, configMap(`map-${i}`, 'x'.repeat(1_000)))
  }
  const everything = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ]
  upstream.before = createGuard({
    users: new Map([
      ['admin', identity('admin', 'system:masters')],
      ['own', identity('watchglass', 'system:masters')],
      ['mallory', identity('mallory')],
    ]),
    bindings: () => [{ subjects: ['mallory'], namespace: '', rules: everything }],
  })
  upstream.forgetSeen()
  return upstream.url
}

process.on('message', (order: UpstreamOrder) => {
  void start(order).then(url => process.send?.(url))
})
process.on('disconnect', () => process.exit(0))

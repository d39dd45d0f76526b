/** A process of its own: the API server of tests with TLS, over an etcd that is another process.
 *  Like a kube-apiserver it reads each object that is asked for from etcd, and encodes each list
 *  anew. */

import { silentLogger } from '../../test/support/silent-logger.ts'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import type { Before } from '../../test/support/upstream/answers.ts'
import { TestUpstream, upstreamReady } from '../../test/support/upstream/upstream.ts'

const ofPod = /^\/api\/v1\/namespaces\/([^/?]+)\/pods\/([^/?]+)(?:\?|$)/

async function start(etcd: string): Promise<string> {
  const client = new GrpcClient({ endpoints: [etcd] })
  const before: Before = async ({ url }) => {
    const [, namespace, name] = ofPod.exec(url) ?? []
    if (name !== undefined) {
      await client.range({ range: singleKey(keyFromText(`/registry/pods/${namespace}/${name}`)) })
    }
    return undefined
  }
  const upstream = await TestUpstream.start({
    client,
    tls: true,
    before,
    service: { logger: silentLogger, segmentsMaxBytes: 0 },
  })
  await upstreamReady(upstream)
  upstream.forgetSeen()
  return upstream.url
}

process.on('message', (etcd: string) => {
  void start(etcd).then(url => process.send?.(url))
})
process.on('disconnect', () => process.exit(0))

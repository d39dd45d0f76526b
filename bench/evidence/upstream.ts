/** A separate process: an embedded etcd with pods and with objects of every other resource, and
 *  over it the API server of tests with TLS, which encodes each answer anew. It counts what is
 *  asked and sent over connections that no client's request has used. */

import { createRandom } from '../../lib/base/random.ts'
import { type Key, keyFromText, prefixRange, textFromKey } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { groupVersionText, type Resource } from '../../lib/kube/resources/resource.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { entriesAt, meta } from '../../test/golden/load.ts'
import { silentLogger } from '../../test/support/silent-logger.ts'
import { TestUpstream, upstreamReady } from '../../test/support/upstream/upstream.ts'
import { clientHeader, type ReadableResource } from './client-header.ts'

/** The address of the upstream, and the resources to read. */
export interface UpstreamReport {
  readonly url: string
  readonly etcd: string
  readonly resources: readonly ReadableResource[]
}

/** The requests and the bytes that it has sent. */
export interface UpstreamCount {
  readonly requests: number
  readonly bytes: number
}

/** The number of objects asked of each resource, spread over all of them. */
const objectsMax = 5

async function start(pods: number): Promise<void> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  await fill(client, pods)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const upstream = await TestUpstream.start({
    client,
    tls: true,
    service: { logger: silentLogger, segmentsMaxBytes: 0 },
  })
  await upstreamReady(upstream)
  const { resources } = upstream.service.registry.state.registry
  await addMissing(client, resources)
  const report: UpstreamReport = {
    url: upstream.url,
    etcd: `http://${server.address}`,
    resources: await readable(client, resources),
  }
  process.send?.(report)
  process.on('message', order => {
    if (order === 'count') process.send?.(countOf(upstream))
  })
}

/** Recorded objects of a real cluster, and generated pods with all that belongs to them. */
async function fill(client: Client, pods: number): Promise<void> {
  const put = (key: Key, value: Uint8Array): Promise<unknown> =>
    client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  for (const [key, entry] of entriesAt(meta().end_revision)) {
    // Others say which revisions were compacted in the cluster of the recording.
    if (textFromKey(key).startsWith('/registry/')) await put(key, entry.value)
  }
  const cluster = new GeneratedCluster({
    plan: parsePlan(`pods=${pods}`),
    random: createRandom(1),
    nowMs: Date.UTC(2026, 0, 1),
    prefix: '/registry',
  })
  for (const change of cluster.objects()) {
    if (change.type === 'put') await put(change.key, change.value)
  }
}

/** One object of every built-in resource that has none. */
async function addMissing(client: Client, resources: readonly Resource[]): Promise<void> {
  for (const { storage, custom, isNamespaced } of resources) {
    if (storage === undefined || custom !== undefined) continue
    const { entries } = await client.range({ range: prefixRange(keyFromText(storage.prefix)) })
    if (entries.length > 0) continue
    const metadata = { name: 'one', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
    const object = {
      apiVersion: groupVersionText(storage.group, storage.version),
      kind: storage.kind,
      metadata: isNamespaced ? { ...metadata, namespace: 'default' } : metadata,
    }
    const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
    if (value instanceof NotExact) throw new Error(value.reason)
    const key = keyFromText(`${storage.prefix}${isNamespaced ? 'default/' : ''}one`)
    await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  }
}

async function readable(
  client: Client,
  resources: readonly Resource[],
): Promise<ReadableResource[]> {
  const all: ReadableResource[] = []
  for (const { group, version, resource, storage, isNamespaced } of resources) {
    if (storage === undefined) continue
    const prefix = keyFromText(storage.prefix)
    const { entries } = await client.range({ range: prefixRange(prefix) })
    if (entries.length === 0) continue
    const root = `${group === '' ? '/api' : '/apis'}/${groupVersionText(group, version)}`
    const step = Math.ceil(entries.length / objectsMax)
    const objects = entries
      .filter((_, i) => i % step === 0)
      .map(({ key }) => textFromKey(key).slice(storage.prefix.length).split('/'))
      .map(([first, name]) =>
        isNamespaced
          ? `${root}/namespaces/${first}/${resource}/${name}`
          : `${root}/${resource}/${first}`,
      )
    all.push({
      name: group === '' ? resource : `${resource}.${group}`,
      list: `${root}/${resource}?limit=500`,
      objects,
    })
  }
  return all
}

function countOf({ seen, sentBytes }: TestUpstream): UpstreamCount {
  const ofClients = new Set(
    seen.filter(({ headers }) => clientHeader in headers).map(({ connection }) => connection),
  )
  const requests = seen.filter(({ connection }) => !ofClients.has(connection)).length
  let bytes = 0
  for (const [connection, sent] of sentBytes) if (!ofClients.has(connection)) bytes += sent
  return { requests, bytes }
}

process.once('message', (pods: number) => {
  void start(pods)
})
process.on('disconnect', () => process.exit(0))

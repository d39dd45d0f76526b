/** Watches of a service in this process: config maps are written, and streams read. */

import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { caughtUp, type Served } from '../http/served.ts'
import { openWatch, type WatchRequest, type WatchResponse } from './watch-client.ts'
import type { ToldEvent } from './watch-world.ts'
import { moment } from '../http/moment.ts'

/** A watch of all config maps. */
export const all = '/api/v1/configmaps?watch=true'

/** Stores a config map, `NAMESPACE/NAME` or one of namespace a, and waits until it is mirrored. Its
 *  revision. */
export async function put(
  served: Served,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const [namespace, plain] = name.includes('/') ? name.split('/') : ['a', name]
  const metadata = { name: plain, namespace, labels }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return putBytes(served, `/registry/configmaps/${namespace}/${plain}`, value)
}

export async function putBytes(served: Served, key: string, value: Uint8Array): Promise<number> {
  const success = [{ type: 'put' as const, key: keyFromText(key), value }]
  const { header } = await served.client.txn({ compares: [], success, failure: [] })
  await caughtUp(served, header.revision)
  return header.revision
}

/** Removes a config map of namespace a. */
export async function remove(served: Served, name: string): Promise<number> {
  const range = singleKey(keyFromText(`/registry/configmaps/a/${name}`))
  const success = [{ type: 'delete' as const, range }]
  const { header } = await served.client.txn({ compares: [], success, failure: [] })
  await caughtUp(served, header.revision)
  return header.revision
}

/** Opens a watch that ends with the test. */
export async function watch(
  t: { teardown(task: () => void): void },
  served: Served,
  path: string,
  rest: Omit<WatchRequest, 'path'> = {},
): Promise<WatchResponse> {
  const stream = await openWatch(served.service.port, { path, ...rest })
  t.teardown(() => stream.close())
  return stream
}

/** The next events of a stream of JSON, as `TYPE NAME@REVISION`. */
export async function told(stream: WatchResponse, count: number): Promise<string[]> {
  const events: string[] = []
  for (let i = 0; i < count; i++) {
    const frame = await stream.next()
    if (frame === undefined) return [...events, 'end']
    const { type, object } = JSON.parse(frame.toString()) as ToldEvent
    const { name = '', resourceVersion = '' } = object.metadata
    events.push(`${type} ${name}@${resourceVersion}`)
  }
  return events
}

/** Resolves when the service has so many open watches. */
export async function untilWatches(served: Served, count: number): Promise<void> {
  while (served.service.openWatches !== count) await moment()
}

/** The stored form of a config map with so much in it. */
export function large(bytes: number): Uint8Array {
  const metadata = { name: 'large', namespace: 'a' }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: 'x'.repeat(bytes) } }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

/** Makes a watch begin with the state, and say when that is over. */
export const streaming =
  'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

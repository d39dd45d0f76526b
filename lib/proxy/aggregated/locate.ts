/** Finds where an aggregated server has the objects of a resource in its etcd. Its API does not
 *  tell this.
 *
 *  The server is asked for one object, and this object is searched under the keys that such servers
 *  use: `BASE/GROUP/RESOURCE/` (k8s.io/apiserver's default, with BASE the server's --etcd-prefix)
 *  and `BASE/RESOURCE/`, where BASE is the prefix that is mirrored, or any folder in it. So
 *  `/registry/GROUP/GROUP/RESOURCE/` is found as well, which is what a prefix of `/registry/GROUP`
 *  leads to. The entry must have the same revision as the object, because an object of another
 *  resource could have the same name. */

import { type Key, keyFromText, textFromKey } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'

/** The reads of etcd that are needed here. */
export interface EtcdKeys {
  entry(key: Key, signal: AbortSignal): Promise<KeyValue | undefined>
  /** The folders directly below a prefix that ends with a slash, each with its final slash; at most
   *  `limit`. */
  folders(prefix: Key, max: number, signal: AbortSignal): Promise<readonly Key[]>
}

export interface SoughtObject {
  readonly group: string
  readonly resource: string
  /** As the server reports it. */
  readonly object: SeenObject
}

export interface SeenObject {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
}

export interface LocatedStorage {
  /** The keyspace, as text, with its final slash. */
  readonly prefix: string
  readonly entry: KeyValue
}

/** The most folders that are searched. */
const foldersMax = 100

/** Searches below `root`, which has no final slash. Undefined if the object is not found. */
export async function locate(
  etcd: EtcdKeys,
  root: string,
  wanted: SoughtObject,
  signal: AbortSignal,
): Promise<LocatedStorage | undefined> {
  const direct = await findBelow(etcd, `${root}/`, wanted, signal)
  if (direct !== undefined) return direct
  for (const folder of await etcd.folders(keyFromText(`${root}/`), foldersMax, signal)) {
    const found = await findBelow(etcd, textFromKey(folder), wanted, signal)
    if (found !== undefined) return found
  }
  return undefined
}

/** Checks one given prefix. */
export async function findUnder(
  etcd: EtcdKeys,
  prefix: string,
  { namespace, name, resourceVersion }: SeenObject,
  signal: AbortSignal,
): Promise<LocatedStorage | undefined> {
  const scope = namespace === '' ? '' : `${namespace}/`
  const entry = await etcd.entry(keyFromText(`${prefix}${scope}${name}`), signal)
  return String(entry?.modRevision) === resourceVersion && entry !== undefined
    ? { prefix, entry }
    : undefined
}

async function findBelow(
  etcd: EtcdKeys,
  base: string,
  { group, resource, object }: SoughtObject,
  signal: AbortSignal,
): Promise<LocatedStorage | undefined> {
  for (const prefix of [`${base}${group}/${resource}/`, `${base}${resource}/`]) {
    const found = await findUnder(etcd, prefix, object, signal)
    if (found !== undefined) return found
  }
  return undefined
}

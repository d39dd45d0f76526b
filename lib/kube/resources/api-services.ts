/** APIServices: which server serves a group and version, and in which order groups are listed. They
 *  are stored as JSON of apiregistration.k8s.io/v1. kube-apiserver also has one for each group and
 *  version that it serves itself. */

import {
  CacheError,
  isObject,
  listOf,
  memberOf,
  numberOf,
  objectOf,
  textOf,
} from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'

export interface ApiService {
  readonly name: string
  readonly group: string
  readonly version: string
  /** Groups with the highest value come first. */
  readonly groupPriority: number
  /** Within a group, versions with the highest value come first. */
  readonly versionPriority: number
  /** Another server serves this group and version. */
  readonly isRemote: boolean
  /** kube-apiserver reaches that server, and lists in discovery what it serves. */
  readonly isAvailable: boolean
}

/** Reads a stored APIService; fails with `unsupported` if it is not one. */
export function apiService({ bytes, start, end }: KeyValue): ApiService {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString())
  } catch (error) {
    throw new CacheError('unsupported', 'stored APIService is not JSON', { cause: error })
  }
  if (!isObject(parsed)) throw new CacheError('unsupported', 'stored APIService is not an object')
  const spec = objectOf(parsed['spec'])
  return {
    name: textOf(objectOf(parsed['metadata'])['name']),
    group: textOf(spec['group']),
    version: textOf(spec['version']),
    groupPriority: numberOf(spec['groupPriorityMinimum']),
    versionPriority: numberOf(spec['versionPriority']),
    isRemote: isObject(spec['service']),
    isAvailable: listOf(memberOf(parsed['status'], 'conditions'))
      .map(objectOf)
      .some(one => one['type'] === 'Available' && one['status'] === 'True'),
  }
}

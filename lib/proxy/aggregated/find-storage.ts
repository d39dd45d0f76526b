/** Finds where and in which version a resource is stored: from the operator's declaration, the
 *  contents of etcd, and discovery. If these contradict each other, the message has both values,
 *  and the resource is not answered here. */

import { createHash } from 'node:crypto'
import { NotExact, objectOf, textOf } from '@watchglass/base'
import { formatOf, readEnvelope } from '@watchglass/codec'
import { groupVersionText, type PassReason } from '@watchglass/kube'
import type { ListedResource } from './upstream-resources.ts'
import type { KeyValue } from '@watchglass/store'
import type { Upstream } from '../upstream/upstream.ts'
import type { Declared, Location } from './aggregated-resource.ts'
import { type EtcdKeys, findUnder, type LocatedStorage, locate, type SeenObject } from './locate.ts'
import { firstObject } from './questions.ts'

export interface StorageSearch {
  readonly upstream: Pick<Upstream, 'call'>
  readonly etcd: EtcdKeys
  /** `/registry` */
  readonly root: string
  /** One resource in all its versions; at least one. */
  readonly listed: readonly ListedResource[]
  readonly declared: Declared | undefined
  readonly signal: AbortSignal
}

export type StorageFound =
  | { readonly type: 'found'; readonly location: Location; readonly remark: string | undefined }
  /** The server has no object. */
  | { readonly type: 'empty' }
  | {
      readonly type: 'passes'
      readonly reason: PassReason
      readonly why: string
      readonly remedy: string
    }

/** Fails when the server or etcd does not answer. */
export async function findStorage(search: StorageSearch): Promise<StorageFound> {
  const { upstream, etcd, root, listed, declared, signal } = search
  const [first] = listed
  if (first === undefined) return { type: 'empty' }
  const contradiction = declared && contradictionOf(first, declared)
  if (contradiction !== undefined) return contradiction
  const object = await firstObject(upstream, first, signal)
  if (object === undefined) return { type: 'empty' }
  const { group, resource } = first
  const given = declared && (await findUnder(etcd, declared.prefix, object, signal))
  const found = given ?? (await locate(etcd, root, { group, resource, object }, signal))
  if (found === undefined) return notFound(search, object)
  if (declared !== undefined && found.prefix !== declared.prefix) {
    return {
      type: 'passes',
      reason: 'not-found-in-etcd',
      why: `--resources says that it is stored under ${declared.prefix}, and it is stored under ${found.prefix}`,
      remedy: `correct the prefix in --resources, or leave the resource out of it`,
    }
  }
  return judge(search, found)
}

/** The contradiction of discovery to the operator's declaration. */
function contradictionOf(
  { kind, isNamespaced }: ListedResource,
  declared: Declared,
): StorageFound | undefined {
  const scopeOf = (one: boolean): string => (one ? 'Namespaced' : 'Cluster')
  const [given, served] =
    declared.kind === kind
      ? [`scope ${scopeOf(declared.isNamespaced)}`, `scope ${scopeOf(isNamespaced)}`]
      : [`kind ${declared.kind}`, `kind ${kind}`]
  if (given === served) return undefined
  return {
    type: 'passes',
    reason: 'not-listed',
    why: `--resources says that it is of ${given}, and the server lists it as of ${served}`,
    remedy: 'correct --resources, or leave the resource out of it',
  }
}

async function notFound(
  { etcd, root, declared, signal }: StorageSearch,
  { namespace, name }: SeenObject,
): Promise<StorageFound> {
  const place = declared === undefined ? `${root}/` : declared.prefix
  const suffix = `${namespace === '' ? '' : `${namespace}/`}${name}`
  const folders = await etcd.folders('/' as Parameters<EtcdKeys['folders']>[0], 10, signal)
  const seen =
    folders.length === 0 ? 'no key that begins with /' : `the folders ${folders.join(' ')}`
  return {
    type: 'passes',
    reason: 'not-found-in-etcd',
    why: `the server lists an object whose key would end with /${suffix}, and etcd has none of its revision under ${place}; etcd has ${seen}`,
    remedy:
      "give --etcd the etcd of the server, and --prefix the value of the server's --etcd-prefix; or declare the prefix of its keys with --resources",
  }
}

function judge(
  { listed, declared }: StorageSearch,
  { prefix, entry }: LocatedStorage,
): StorageFound {
  const form = storedForm(entry)
  if (form.type === 'unreadable') {
    return {
      type: 'passes',
      reason: 'stored-form',
      why: `what is stored under ${prefix} cannot be read: ${form.problem}`,
      remedy: 'nothing: such objects are answered by the server',
    }
  }
  if (form.type === 'protobuf') {
    return {
      type: 'passes',
      reason: 'stored-form',
      why: `it is stored as Kubernetes protobuf of ${form.apiVersion} ${form.kind}, and no schema of it is known here`,
      remedy:
        "have the server store JSON (--storage-media-type=application/json, or the codec of its storage), and write the objects anew: what is stored as the server's own protobuf types cannot be shown by anybody else",
    }
  }
  const slash = form.apiVersion.indexOf('/')
  const group = form.apiVersion.slice(0, Math.max(0, slash))
  const version = form.apiVersion.slice(slash + 1)
  const location = { prefix, group, version, kind: form.kind }
  if (declared !== undefined && declared.storedVersion !== version) {
    return {
      type: 'passes',
      reason: 'stored-form',
      why: `--resources says that it is stored as version ${declared.storedVersion}, and an object is stored as ${version}`,
      remedy: 'correct storageVersion in --resources, or leave the resource out of it',
    }
  }
  return { type: 'found', location, remark: remarkOf(listed, location) }
}

/** The contradiction of discovery to the objects that were found: it says that new objects are
 *  stored in another version. */
function remarkOf(
  listed: readonly ListedResource[],
  { group, version, kind }: Location,
): string | undefined {
  const hash = listed.map(one => one.storageVersionHash).find(one => one !== undefined)
  if (hash === undefined || hash === storageVersionHash(group, version, kind)) return undefined
  const named = listed.find(one => storageVersionHash(one.group, one.version, one.kind) === hash)
  const other =
    named === undefined ? 'another version' : groupVersionText(named.group, named.version)
  return `an object is stored as ${groupVersionText(group, version)}, and discovery says that ${other} is stored: objects that are written anew pass`
}

/** The format of a stored value, from its first bytes. */
type StoredForm =
  | { readonly type: 'json' | 'protobuf'; readonly apiVersion: string; readonly kind: string }
  /** Why it cannot be read. */
  | { readonly type: 'unreadable'; readonly problem: string }

function storedForm(entry: KeyValue): StoredForm {
  const format = formatOf(entry)
  if (format instanceof NotExact) return { type: 'unreadable', problem: format.reason }
  const { bytes, start, end } = entry
  if (format === 'protobuf') {
    const envelope = readEnvelope(bytes, start, end)
    if (envelope instanceof NotExact) return { type: 'unreadable', problem: envelope.reason }
    return { type: 'protobuf', apiVersion: envelope.apiVersion, kind: envelope.kind }
  }
  try {
    const object = objectOf(JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()))
    const [apiVersion, kind] = [textOf(object['apiVersion']), textOf(object['kind'])]
    if (apiVersion !== '' && kind !== '') return { type: 'json', apiVersion, kind }
    return { type: 'unreadable', problem: 'value has no apiVersion or no kind' }
  } catch {
    return { type: 'unreadable', problem: 'value is not JSON' }
  }
}

/** The hash with which discovery names the storage version. */
function storageVersionHash(group: string, version: string, kind: string): string {
  const digest = createHash('sha256').update(`${group}/${version}/${kind}`).digest()
  return digest.subarray(0, 8).toString('base64')
}

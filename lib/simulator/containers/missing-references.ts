/** ConfigMaps and Secrets that a pod needs and that are not there: its volumes cannot be mounted,
 *  or its containers not be created, in the words of a kubelet. */

import { isObject, objectOf } from '@watchglass/base'
import type { MountedReference, NamedReference, DeclaredPod, PodContainer } from './declared-pod.ts'

export type ReferenceKind = 'ConfigMap' | 'Secret'

/** The object of a pod's namespace; undefined if it is not there. */
export type ReadReference = (kind: ReferenceKind, name: string) => Promise<unknown>

/** Objects that are looked for at one look; a pod may name as many as its size allows. */
const objectsMax = 200

/** Every namespace gets it a moment after it was made. */
const ownConfigMap = 'kube-root-ca.crt'

interface Mount extends MountedReference {
  readonly kind: ReferenceKind
  readonly volume: string
}

interface Variable extends NamedReference {
  readonly kind: ReferenceKind
  readonly key?: string
}

/** Whether a pod names any. */
export function hasReferences(pod: DeclaredPod): boolean {
  const { containers, initContainers = [] } = pod.spec
  return (
    mountsOf(pod).length > 0 ||
    [...initContainers, ...containers].some(container => variablesOf(container).length > 0)
  )
}

/** The reader that asks for each object once, and for so many at most. */
export function boundedReader(read: ReadReference): ReadReference {
  const known = new Map<string, Promise<unknown>>()
  return (kind, name) => {
    const id = `${kind}/${name}`
    const before = known.get(id)
    if (before !== undefined) return before
    if (known.size >= objectsMax) return Promise.resolve(anything)
    const found = read(kind, name)
    known.set(id, found)
    return found
  }
}

/** An object that is not looked for is taken for one that has all. */
const anything = Symbol('anything')

/** The messages of the volumes that cannot be mounted. */
export async function mountProblems(pod: DeclaredPod, read: ReadReference): Promise<string[]> {
  const problems: string[] = []
  for (const { kind, volume, name, secretName, items = [] } of mountsOf(pod)) {
    const wanted = secretName ?? name ?? ''
    const object = await read(kind, wanted)
    const keys = items.map(({ key }) => key)
    const problem = problemOf({ kind, name: wanted, keys }, object)
    if (problem === undefined) continue
    problems.push(`MountVolume.SetUp failed for volume "${volume}" : ${problem}`)
  }
  return problems
}

/** Why a container cannot be created; undefined if it can (makeEnvironmentVariables). */
export async function configProblem(
  container: PodContainer,
  namespace: string,
  read: ReadReference,
): Promise<string | undefined> {
  for (const { kind, name = '', key, optional } of variablesOf(container)) {
    const object = await read(kind, name)
    if (object === undefined && optional !== true) return notFound(kind, name)
    if (object === undefined || key === undefined || optional === true) continue
    if (!hasKey(object, key)) return `couldn't find key ${key} in ${kind} ${namespace}/${name}`
  }
  return undefined
}

interface Wanted {
  readonly kind: ReferenceKind
  readonly name: string
  readonly keys: readonly string[]
}

function problemOf({ kind, name, keys }: Wanted, object: unknown): string | undefined {
  if (object === undefined) return notFound(kind, name)
  const missing = keys.find(key => !hasKey(object, key))
  if (missing === undefined) return undefined
  return kind === 'ConfigMap'
    ? `configmap references non-existent config key: ${missing}`
    : `references non-existent secret key: ${missing}`
}

function notFound(kind: ReferenceKind, name: string): string {
  return `${kind.toLowerCase()} "${name}" not found`
}

function hasKey(object: unknown, key: string): boolean {
  if (!isObject(object)) return object === anything
  const { data, binaryData } = object
  return Object.hasOwn(objectOf(data), key) || Object.hasOwn(objectOf(binaryData), key)
}

function mountsOf({ spec }: DeclaredPod): Mount[] {
  const mounts = (spec.volumes ?? []).flatMap(({ name: volume, projected, ...own }): Mount[] =>
    [own, ...(projected?.sources ?? [])].flatMap(({ configMap, secret }): Mount[] => [
      ...(configMap === undefined ? [] : [{ kind: 'ConfigMap' as const, volume, ...configMap }]),
      ...(secret === undefined ? [] : [{ kind: 'Secret' as const, volume, ...secret }]),
    ]),
  )
  return mounts.filter(({ name, optional }) => optional !== true && name !== ownConfigMap)
}

function variablesOf({ env = [], envFrom = [] }: PodContainer): Variable[] {
  const all = envFrom.flatMap(({ configMapRef, secretRef }): Variable[] => [
    ...(configMapRef === undefined ? [] : [{ kind: 'ConfigMap' as const, ...configMapRef }]),
    ...(secretRef === undefined ? [] : [{ kind: 'Secret' as const, ...secretRef }]),
  ])
  const single = env.flatMap(({ valueFrom }): Variable[] => {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {}
    return [
      ...(configMapKeyRef === undefined
        ? []
        : [{ kind: 'ConfigMap' as const, ...configMapKeyRef }]),
      ...(secretKeyRef === undefined ? [] : [{ kind: 'Secret' as const, ...secretKeyRef }]),
    ]
  })
  return [...all, ...single]
}

/** Objects that an object names: its owners, its node, and what a pod uses. */

import { hashOf, type ListedKind } from './addresses.ts'

/** An object that is named, as a place of the page. */
export interface LinkedObject {
  /** Its part for the object that names it: an owner's kind, or the kind of what is used. */
  readonly role: string
  readonly name: string
  readonly hash: string
}

/** A part of an object, of which nothing is known. */
type Part = Readonly<Record<string, unknown>> | undefined

/** Members of pod specs that name an object in the same namespace: the path to it, and its kind. */
const usedByPods: readonly (readonly [path: string, kind: string])[] = [
  ['serviceAccountName', 'serviceaccounts'],
  ['imagePullSecrets.name', 'secrets'],
  ['volumes.configMap.name', 'configmaps'],
  ['volumes.secret.secretName', 'secrets'],
  ['volumes.persistentVolumeClaim.claimName', 'persistentvolumeclaims'],
  ['volumes.projected.sources.configMap.name', 'configmaps'],
  ['volumes.projected.sources.secret.name', 'secrets'],
  ['containers.envFrom.configMapRef.name', 'configmaps'],
  ['containers.envFrom.secretRef.name', 'secrets'],
  ['containers.env.valueFrom.configMapKeyRef.name', 'configmaps'],
  ['containers.env.valueFrom.secretKeyRef.name', 'secrets'],
]

/** Each once, in the order in which they are found. */
export function relatedTo(
  object: unknown,
  kinds: ReadonlyMap<string, ListedKind>,
): readonly LinkedObject[] {
  const found = new Map<string, LinkedObject>()
  const add = (role: string, kind: string, namespace: string, name: unknown): void => {
    const listed = kinds.get(kind)
    if (listed === undefined || typeof name !== 'string' || name === '') return
    const hash = hashOf(kind, listed.isNamespaced ? namespace : '', name)
    if (!found.has(hash)) found.set(hash, { role, name, hash })
  }
  const { metadata, spec } = object as { metadata?: Part; spec?: Part }
  const { namespace: within } = metadata ?? {}
  const namespace = typeof within === 'string' ? within : ''
  for (const owner of partsAt(metadata, ['ownerReferences'])) {
    const { kind, apiVersion, name } = owner as Readonly<Record<string, unknown>>
    const id = kindOf(String(kind), String(apiVersion), kinds)
    if (id !== undefined) add(String(kind), id, namespace, name)
  }
  add('Node', 'nodes', '', spec?.['nodeName'])
  const template = (spec?.['template'] as { spec?: Part } | undefined)?.spec
  for (const pod of [spec, template]) {
    for (const [path, kind] of usedByPods) {
      for (const name of partsAt(pod, path.split('.'))) {
        add(kinds.get(kind)?.kind ?? kind, kind, namespace, name)
      }
    }
  }
  return [...found.values()]
}

function kindOf(
  kind: string,
  apiVersion: string,
  kinds: ReadonlyMap<string, ListedKind>,
): string | undefined {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
  return [...kinds.values()].find(one => one.kind === kind && one.group === group)?.id
}

/** All values at a path, which goes through each item of a list. */
function partsAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => partsAt(item, path))
  const [name, ...rest] = path
  if (name === undefined) return value === undefined || value === null ? [] : [value]
  if (value === null || typeof value !== 'object') return []
  return partsAt((value as Readonly<Record<string, unknown>>)[name], rest)
}

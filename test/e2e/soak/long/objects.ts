/** Objects as clients see them, and the part of them that is compared with what etcd has. */

export interface KubeObject {
  readonly kind?: string
  readonly metadata: Metadata
  readonly spec?: { readonly nodeName?: string }
  readonly data?: unknown
}

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly resourceVersion: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** A resource that is read: one of the group "" that has namespaces. */
export interface Resource {
  readonly name: 'pods' | 'configmaps'
  readonly prefix: string
}

export const pods: Resource = { name: 'pods', prefix: '/registry/pods/' }
export const configMaps: Resource = { name: 'configmaps', prefix: '/registry/configmaps/' }

/** Metadata and data, without the revision, which is compared apart: defaults and conversions
 *  change neither. */
export function metadataText({ metadata, data }: KubeObject): string {
  const { resourceVersion: _, ...rest } = metadata
  return JSON.stringify([rest, data], (_, value: unknown) => value ?? undefined)
}

/** The text of an object of which only the metadata was asked for. */
export function onlyMetadata(text: string): string {
  const [metadata] = JSON.parse(text) as [unknown]
  return JSON.stringify([metadata, undefined])
}

/** A selector, and the objects that it selects. */
export interface Selection {
  readonly query: string
  readonly matches: (object: KubeObject) => boolean
}

export const everything: Selection = { query: '', matches: () => true }

export function withLabel(name: string, value: string): Selection {
  return {
    query: `labelSelector=${encodeURIComponent(`${name}=${value}`)}`,
    matches: ({ metadata }) => metadata.labels?.[name] === value,
  }
}

export function onNode(name: string): Selection {
  return {
    query: `fieldSelector=${encodeURIComponent(`spec.nodeName=${name}`)}`,
    matches: ({ spec }) => spec?.nodeName === name,
  }
}

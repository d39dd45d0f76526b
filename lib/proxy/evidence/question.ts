/** The requests to the upstream whose answers are compared byte for byte. */

import { mediaTypeNames } from '@watchglass/codec'
import { type Key, type Revision, textFromKey } from '@watchglass/base'
import { groupVersionText, type Resource } from '@watchglass/kube'
import type { ComparedForm } from './form.ts'

/** The name and namespace of an object, from its key. */
export interface ObjectName {
  readonly namespace: string
  readonly name: string
}

/** The name and namespace in a key; undefined if it is not a key of the resource. */
export function nameOf({ storage, isNamespaced }: Resource, key: Key): ObjectName | undefined {
  const parts = textFromKey(key)
    .slice(storage?.prefix.length ?? 0)
    .split('/')
  const [first = '', second = ''] = parts
  if (parts.length !== (isNamespaced ? 2 : 1) || first === '') return undefined
  return isNamespaced ? { namespace: first, name: second } : { namespace: '', name: first }
}

/** A list of all objects that are held, at their revision, at most `limit`. */
export function pagePath(
  resource: Resource,
  {
    proven,
    namespace = '',
  }: { readonly proven: Revision; readonly namespace?: string | undefined },
  limit: number,
  form: ComparedForm,
): string {
  return `${pathOf(resource, namespace)}?${exactly(proven, form)}&limit=${limit}`
}

/** A list of the object of that name at a revision. The API server reads a single key for it. */
export function itemPath(
  resource: Resource,
  at: Revision,
  { namespace, name }: ObjectName,
  form: ComparedForm,
): string {
  const selector = encodeURIComponent(`metadata.name=${name}`)
  return `${pathOf(resource, namespace)}?${exactly(at, form)}&fieldSelector=${selector}`
}

/** The selectors of a watch, as its client has sent them. */
export interface AskedSelectors {
  readonly labelSelector: string
  readonly fieldSelector: string
}

/** A watch of one object that begins just before an event of it, and ends soon. */
export function eventPath(
  resource: Resource,
  { namespace, name }: ObjectName,
  { form, told, selectors }: EventQuestion,
): string {
  const { labelSelector, fieldSelector } = selectors ?? { labelSelector: '', fieldSelector: '' }
  const fields = [`metadata.name=${name}`, ...(fieldSelector === '' ? [] : [fieldSelector])]
  const query = [
    `watch=true&resourceVersion=${told.revision - 1}&timeoutSeconds=5`,
    `fieldSelector=${encodeURIComponent(fields.join(','))}`,
    ...(labelSelector === '' ? [] : [`labelSelector=${encodeURIComponent(labelSelector)}`]),
    ...(form.rendering === 'Table' ? [`includeObject=${form.includeObject}`] : []),
  ]
  return `${pathOf(resource, namespace)}?${query.join('&')}`
}

interface EventQuestion {
  readonly form: ComparedForm
  readonly told: { readonly revision: Revision }
  readonly selectors: AskedSelectors | undefined
}

/** A streaming list that ends soon, of no objects unless one has that name. */
export function streamPath(resource: Resource): string {
  const query =
    'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const none = encodeURIComponent('metadata.name=asked-for-no-object')
  const [namespace = ''] = resource.storage?.namespaces ?? []
  return `${pathOf(resource, namespace)}?${query}&timeoutSeconds=1&fieldSelector=${none}`
}

/** The object itself, or its scale. */
export function alonePath(
  resource: Resource,
  { namespace, name }: ObjectName,
  { subresource, rendering, includeObject }: ComparedForm,
): string {
  const path = `${pathOf(resource, namespace)}/${encodeURIComponent(name)}`
  const query = rendering === 'Table' ? `?includeObject=${includeObject}` : ''
  return `${path}${subresource === undefined ? '' : `/${subresource}`}${query}`
}

function pathOf({ group, version, resource }: Resource, namespace: string): string {
  const root = group === '' ? '/api' : '/apis'
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}/${groupVersionText(group, version)}${scope}/${resource}`
}

function exactly(at: Revision, { rendering, includeObject }: ComparedForm): string {
  const exact = `resourceVersion=${at}&resourceVersionMatch=Exact`
  const isPlain = rendering !== 'Table' || includeObject === 'Metadata'
  return isPlain ? exact : `${exact}&includeObject=${includeObject}`
}

/** The Accept header that names a form. */
export function acceptOf(
  { encoding, rendering, renderingVersion, drops }: ComparedForm,
  place: 'alone' | 'item',
): string {
  const type = mediaTypeNames[encoding]
  const name = drops === undefined ? type : `${type};drop=metadata.managedFields`
  if (rendering === 'object') return name
  const isList = place === 'item' && rendering !== 'Table'
  const as = rendering === 'Table' ? 'Table' : `PartialObjectMetadata${isList ? 'List' : ''}`
  return `${name};as=${as};g=meta.k8s.io;v=${renderingVersion}`
}

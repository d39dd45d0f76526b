/** The subresource `scale` of what can be scaled, made of the object as it is served. */

import { isObject, memberAt, memberOf, NotExact, textOf } from '@watchglass/base'
import type { ScalePaths } from '../schema/rows.ts'
import { type PrintedSelector, selectorText, since } from '../table/format.ts'
import { goJsonString, millisecondsFromText } from '@watchglass/go'
import type { MediaType } from '../negotiate/negotiate.ts'
import type { Schema } from '../schema/schema.ts'
import { type IncludedObject, type OutputForm } from './object-encoder.ts'
import { defaultColumns, goJson } from '../table/table.ts'

/** The values of a Scale. */
export interface Scale {
  readonly name: string
  /** Creation time of the object, as RFC 3339; empty if it says none. */
  readonly createdAt: string
  /** Its metadata as JSON, with the resourceVersion. */
  readonly metadata: string
  readonly wanted: number
  readonly counted: number
  readonly selector: string
}

/** The object does not say how many replicas it wants. */
export const noReplicas: NotExact = new NotExact('the object has no number of replicas')

/** The scale of an object, of which `object` is the JSON with its resourceVersion. `paths` are
 *  those of a custom resource. */
export function scaleOf(object: Uint8Array, paths: ScalePaths | undefined): Scale | NotExact {
  const parsed: unknown = JSON.parse(
    Buffer.from(object.buffer, object.byteOffset, object.length).toString(),
  )
  const wanted = valueAt(parsed, paths?.specReplicas ?? '.spec.replicas')
  const counted = valueAt(parsed, paths?.statusReplicas ?? '.status.replicas') ?? 0
  const selector =
    paths === undefined ? builtInSelector(parsed) : (valueAt(parsed, paths.labelSelector) ?? '')
  if (wanted === undefined) return noReplicas
  if (!isInt32(wanted) || !isInt32(counted)) return otherReplicas
  if (typeof selector !== 'string') return new NotExact('the selector of the scale is no text')
  const metadata = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'].flatMap(
    name => {
      const value = memberAt(parsed, ['metadata', name])
      return typeof value === 'string' ? [`"${name}":${goJsonString(value)}`] : []
    },
  )
  return {
    name: textAt(parsed, '.metadata.name'),
    createdAt: textAt(parsed, '.metadata.creationTimestamp'),
    metadata: `{${metadata.join(',')}}`,
    wanted,
    counted,
    selector,
  }
}

/** The compact JSON of a Scale. */
export function scaleJson({ metadata, wanted, counted, selector }: Scale): string {
  const spec = wanted === 0 ? '' : `"replicas":${wanted}`
  const status = `"replicas":${counted}${selector === '' ? '' : `,"selector":${goJsonString(selector)}`}`
  const names = '"kind":"Scale","apiVersion":"autoscaling/v1"'
  return `{${names},"metadata":${metadata},"spec":{${spec}},"status":{${status}}}`
}

/** Replication controllers have labels in place of a selector. */
function builtInSelector(object: unknown): string | undefined {
  const selector = memberAt(object, ['spec', 'selector'])
  if (typeof selector !== 'object' || selector === null) return ''
  const isPlain = !('matchLabels' in selector) && !('matchExpressions' in selector)
  const { matchLabels = {}, matchExpressions = [] } = (
    isPlain ? { matchLabels: selector } : selector
  ) as { matchLabels?: Record<string, string>; matchExpressions?: Expression[] }
  return selectorText({
    matchLabels: Object.entries(matchLabels),
    matchExpressions: matchExpressions.map(({ values = [], ...expression }) => ({
      ...expression,
      values,
    })),
  })
}

type Expression = Omit<PrintedSelector['matchExpressions'][number], 'values'> & {
  readonly values?: readonly string[]
}

/** The value at a path, of which each name is behind a dot; undefined where the object has none, or
 *  where the path is empty. Where something else stands in the way of the path, it is neither a
 *  number nor a text. */
function valueAt(object: unknown, path: string): unknown {
  if (path === '') return undefined
  let found = object
  for (const name of path.split('.').slice(1)) {
    if (!isObject(found)) return inTheWay
    found = memberOf(found, name)
    if (found === undefined) return undefined
  }
  return found
}

function textAt(object: unknown, path: string): string {
  return textOf(valueAt(object, path))
}

/** Servers cut larger numbers, and refuse what is no integer. */
function isInt32(value: unknown): value is number {
  return Number.isInteger(value) && value === ((value as number) | 0)
}

const inTheWay = {}
const otherReplicas = new NotExact('a number of replicas is no integer of 32 bits')

/** The resource that is scaled: columns of built-in and of custom resources differ. */
export interface ScaledKind {
  readonly schema: Schema
  readonly isCustom: boolean
}

/** The compact JSON, with a newline. */
export function renderedScale(
  scale: Scale,
  kind: ScaledKind,
  form: Pick<OutputForm, 'rendering' | 'renderingVersion' | 'includeObject' | 'now'>,
): string {
  if (form.rendering === 'object') return `${scaleJson(scale)}\n`
  const { renderingVersion: version, includeObject, now } = form
  if (form.rendering !== 'Table') return `${partialScale(scale, version)}\n`
  const created = millisecondsFromText(scale.createdAt)
  // The converter of custom resources looks members up, and these two are left out where they are
  // zero.
  const [lacksWanted, lacksTime] = [scale.wanted === 0, created === undefined || created === null]
  const cells = [
    goJsonString(scale.name),
    kind.isCustom && lacksWanted ? 'null' : scale.wanted,
    scale.counted,
    kind.isCustom && lacksTime ? 'null' : goJsonString(since(created, now)),
  ]
  const { resourceVersion } = JSON.parse(scale.metadata) as { resourceVersion?: string }
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${version}"`
  const metadata = `"metadata":{"resourceVersion":"${resourceVersion ?? ''}"}`
  const row = `{"cells":[${cells.join(',')}],"object":${included(scale, includeObject, version)}}`
  return `${head},${metadata},"columnDefinitions":${columnsJson(kind)},"rows":[${row}]}\n`
}

function included(
  scale: Scale,
  what: IncludedObject,
  version: MediaType['renderingVersion'],
): string {
  if (what === 'None') return 'null'
  return what === 'Object' ? scaleJson(scale) : partialScale(scale, version)
}

function partialScale({ metadata }: Scale, version: MediaType['renderingVersion']): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${metadata}}`
}

/** The names are the same; the two converters describe them in their own words. */
function columnsJson({ schema, isCustom }: ScaledKind): string {
  const [name, created] = defaultColumns(schema).map(({ description }) => description)
  const [wanted, counted] = isCustom
    ? ['Number of desired replicas', 'Number of actual replicas']
    : [
        'replicas is the desired number of instances for the scaled object.',
        'replicas is the actual number of observed instances of the scaled object.',
      ]
  const columns = [
    ['Name', 'string', isCustom ? 'name' : '', name],
    ['Desired', 'integer', '', wanted],
    ['Available', 'integer', '', counted],
    ['Age', isCustom ? 'date' : 'string', '', created],
  ]
  return goJson(
    columns.map(([title, type, format, description]) => ({
      name: title,
      type,
      format,
      description,
      priority: 0,
    })),
  )
}

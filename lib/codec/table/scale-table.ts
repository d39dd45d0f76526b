/** A Scale in the form that a client accepts: as it is, its metadata alone, or a Table of one row. */

import { goJsonString } from '../../go/text.ts'
import { millisecondsFromText } from '../../go/time.ts'
import type { MediaType } from '../negotiate/negotiate.ts'
import type { Schema } from '../schema/schema.ts'
import { type IncludedObject, type Shown } from '../served/object-encoder.ts'
import { type Scale, scaleJson } from '../served/scale.ts'
import { since } from './format.ts'
import { defaultColumns, goJson } from './table.ts'

/** The resource that is scaled: columns of built-in and of custom resources differ. */
export interface ScaledKind {
  readonly schema: Schema
  readonly isCustom: boolean
}

/** The compact JSON, with a newline. */
export function renderedScale(
  scale: Scale,
  kind: ScaledKind,
  shown: Pick<Shown, 'rendering' | 'renderingVersion' | 'includeObject' | 'now'>,
): string {
  if (shown.rendering === 'object') return `${scaleJson(scale)}\n`
  const { renderingVersion: version, includeObject, now } = shown
  if (shown.rendering !== 'Table') return `${partialScale(scale, version)}\n`
  const created = millisecondsFromText(scale.createdAt)
  // The converter of custom resources looks members up, and these two are left out where they are zero.
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

/** The subresource `scale` of what can be scaled, made of the object as it is served. */

import { memberAt } from '../../base/untyped.ts'
import { goJsonString } from '../../go/text.ts'
import { NotExact } from '../not-exact.ts'
import type { ScalePaths } from '../schema/rows.ts'
import { type LabelSelector, selectorText } from '../table/format.ts'

/** What a Scale says. */
export interface Scale {
  readonly name: string
  /** Of the object, as RFC 3339; empty if it says none. */
  readonly createdAt: string
  /** Its metadata as JSON, with the resourceVersion. */
  readonly metadata: string
  readonly wanted: number
  readonly counted: number
  readonly selector: string
}

/** The scale of an object, of which `object` is the JSON with its resourceVersion. `paths` are those of a custom resource. */
export function scaleOf(object: Uint8Array, paths: ScalePaths | undefined): Scale | NotExact {
  const parsed: unknown = JSON.parse(
    Buffer.from(object.buffer, object.byteOffset, object.length).toString(),
  )
  const wanted = numberAt(parsed, paths?.specReplicas ?? '.spec.replicas')
  const counted = numberAt(parsed, paths?.statusReplicas ?? '.status.replicas') ?? 0
  const selector =
    paths === undefined ? builtInSelector(parsed) : textAt(parsed, paths.labelSelector)
  if (wanted === undefined) return new NotExact('the object has no number of replicas')
  if (selector === undefined) return new NotExact('the selector is none')
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

type Expression = Omit<LabelSelector['matchExpressions'][number], 'values'> & {
  readonly values?: readonly string[]
}

function numberAt(object: unknown, path: string): number | undefined {
  const value = memberAt(object, namesIn(path))
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

function textAt(object: unknown, path: string): string {
  const value = path === '' ? '' : memberAt(object, namesIn(path))
  return typeof value === 'string' ? value : ''
}

/** Each is behind a dot. */
function namesIn(path: string): string[] {
  return path.split('.').slice(1)
}

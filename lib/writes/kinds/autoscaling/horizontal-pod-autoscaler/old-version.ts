/** Autoscalers of autoscaling/v1 on their way through a write. Kubernetes works on an internal type
 *  with the fields of v2, in whose form we have it: what v1 has no fields for comes in annotations
 *  and goes there again. Those that Go cannot read say nothing. */

import {
  copyTree,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberAt,
  memberOf,
  textFromTree,
} from '@watchglass/go'
import { NotExact } from '@watchglass/base'
import {
  asObject,
  cpuMetric,
  defaultUtilization,
  downgradeAutoscaler,
  type MessageType,
  objectOf,
  ownAnnotations,
  prefix,
  type Schema,
  upgradeCurrentMetric,
  upgradeMetric,
} from '@watchglass/codec'
import { completeTree } from '../../../decode/complete-tree.ts'
import { jsonBody, treeDocument } from '../../../decode/documents.ts'
import { DecodeError, decodeTyped } from '../../../decode/typed-decoder.ts'
import { textOf } from '../../../metadata.ts'
import type { WriteKind } from '../../../write-kind.ts'

export const oldAutoscalers = 'autoscaling/v1'
export const internalAutoscalers = 'autoscaling/v2'

/** True for kinds that are written in another form than they are sent in. */
export function isOldAutoscaler({ kind, apiVersion }: WriteKind): boolean {
  return kind === 'HorizontalPodAutoscaler' && apiVersion === oldAutoscalers
}

/** An autoscaler as it was decoded, in the order of its type. Annotations that only conversions
 *  make say what the internal type has; in v2 they say nothing. */
export function completeAutoscaler(
  object: JsonObject,
  { schema, apiVersion, type }: WriteKind & { readonly type: MessageType },
): JsonObject {
  if (apiVersion !== oldAutoscalers) {
    return completeTree(new Map(object).set('metadata', plainMetadata(object)), type)
  }
  const internal = internalAutoscaler(object, schema)
  const made = downgradeAutoscaler(internal, schema)
  if (made instanceof NotExact) return completeTree(object, type)
  const complete = completeTree(made, type)
  const spec = complete.get('spec')
  if (spec instanceof Map) decoded.set(spec, { internal, text: textOfContents(complete) })
  return complete
}

/** The internal form that an autoscaler of v1 was decoded as, by its spec: v1 does not hold all of
 *  it. It counts as long as nobody has changed the object. */
const decoded = new WeakMap<JsonObject, { readonly internal: JsonObject; readonly text: string }>()

function textOfContents(object: JsonObject): string {
  const notes = ownAnnotations.map(name => memberAt(object, ['metadata', 'annotations', name]))
  const parts = [object.get('spec'), object.get('status'), ...notes]
  return textFromTree(parts.map(part => part ?? null))
}

function decodedForm(object: JsonObject): JsonObject | undefined {
  const spec = object.get('spec')
  const known = spec instanceof Map ? decoded.get(spec) : undefined
  if (known === undefined || known.text !== textOfContents(object)) return undefined
  return new Map(copyTree(known.internal) as JsonObject).set('metadata', plainMetadata(object))
}

/** The metadata without what conversions make. */
function plainMetadata(object: JsonObject): JsonObject {
  const metadata = new Map(asObject(object.get('metadata')))
  const known = metadata.get('annotations')
  if (!(known instanceof Map)) return metadata
  const annotations = new Map([...known].filter(([name]) => !ownAnnotations.includes(name)))
  if (annotations.size > 0 || known.size === 0) metadata.set('annotations', annotations)
  else metadata.delete('annotations')
  return metadata
}

/** An autoscaler of v1 in the form of v2, without the defaults of v2. */
export function internalAutoscaler(object: JsonObject, schema: Schema): JsonObject {
  const known = decodedForm(object)
  if (known !== undefined) return known
  const [spec, status] = [object.get('spec'), object.get('status')]
  const note = (name: string): JsonValue => noted(object, name) ?? null
  const listed = (name: string, type: string): JsonObject[] | undefined =>
    readList(note(name), schema.messageType(`autoscaling/v1.${type}`))
  const metrics = (listed('metrics', 'MetricSpec') ?? []).map(one => upgradeMetric(one, schema))
  const utilization = memberOf(spec, 'targetCPUUtilizationPercentage') ?? null
  if (utilization !== null) metrics.push(cpuMetric('target', utilization))
  if (metrics.length === 0) metrics.push(cpuMetric('target', new JsonNumber(defaultUtilization)))
  const current = memberOf(status, 'currentCPUUtilizationPercentage') ?? null
  const plain = current === null ? [] : [cpuMetric('current', current)]
  const currentMetrics = listed('current-metrics', 'MetricStatus')?.map(upgradeCurrentMetric)
  return objectOf({
    kind: 'HorizontalPodAutoscaler',
    apiVersion: internalAutoscalers,
    metadata: plainMetadata(object),
    spec: objectOf({
      scaleTargetRef: memberOf(spec, 'scaleTargetRef'),
      minReplicas: memberOf(spec, 'minReplicas'),
      maxReplicas: memberOf(spec, 'maxReplicas'),
      metrics,
      behavior: behaviorOf(note('behavior'), schema),
    }),
    status: objectOf({
      observedGeneration: memberOf(status, 'observedGeneration'),
      lastScaleTime: memberOf(status, 'lastScaleTime'),
      currentReplicas: memberOf(status, 'currentReplicas'),
      desiredReplicas: memberOf(status, 'desiredReplicas'),
      currentMetrics: currentMetrics ?? plain,
      conditions: listed('conditions', 'HorizontalPodAutoscalerCondition'),
    }),
  })
}

/** The JSON of an annotation; undefined if there is none, or it is malformed. */
function noted(object: JsonObject, name: string): JsonValue | undefined {
  const text = memberOf(memberOf(object.get('metadata'), 'annotations'), prefix + name)
  return text === undefined ? undefined : readable(() => jsonBody(Buffer.from(textOf(text))).value)
}

/** A behavior that says nothing is none. Its members in Go's internal type are those of v2, but for
 *  the case of their first letters. */
function behaviorOf(value: JsonValue, schema: Schema): JsonObject | undefined {
  const type = schema.messageType(`${internalAutoscalers}.HorizontalPodAutoscalerBehavior`)
  const [behavior] = readList([value], type) ?? []
  return behavior === undefined || behavior.size === 0 ? undefined : behavior
}

/** The items as their type; undefined if one of them is wrong, or there is no list. */
function readList(value: JsonValue, type: MessageType): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined
  return readable(() =>
    value.map(item => {
      const { object } = decodeTyped(treeDocument(withGoNames(item, type)), type)
      return completeTree(object, type)
    }),
  )
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** The value with its members named as the type has them: to encoding/json their case is all the
 *  same. */
function withGoNames(value: JsonValue, type: MessageType): JsonValue {
  if (!(value instanceof Map)) return value
  const named: JsonObject = new Map()
  for (const [given, member] of value) {
    const field =
      type.fields.find(({ jsonName }) => jsonName === given) ??
      type.fields.find(({ jsonName }) => jsonName.toLowerCase() === given.toLowerCase())
    if (field === undefined) continue
    const inner = field.type.includes('.') ? type.schema.messageType(field.type) : undefined
    named.set(
      field.jsonName,
      inner === undefined || inner.form !== 'object'
        ? member
        : Array.isArray(member)
          ? member.map(item => withGoNames(item, inner))
          : withGoNames(member, inner),
    )
  }
  return named
}

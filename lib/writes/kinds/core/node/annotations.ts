/** Annotations of nodes that hold JSON, from the time before there were fields: taints, and the
 *  controllers whose pods a node would rather not have. They are read with encoding/json, to which
 *  `Key` and `key` are the same. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  momentFromText,
  timeProblem,
} from '@watchglass/go'
import { jsonBody } from '../../../decode/documents.ts'
import { DecodeError } from '../../../decode/typed-decoder.ts'
import { Place } from '../../../validation/place.ts'

const taintsKey = 'scheduler.alpha.kubernetes.io/taints'
const avoidKey = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

/** The type of a value, as Go names it in errors. */
type Shape = 'string' | 'bool' | 'time' | ListShape | StructShape
interface ListShape {
  readonly items: StructShape
}
interface StructShape {
  readonly type: string
  readonly members: Readonly<Record<string, Shape>>
}

const taint: StructShape = {
  type: 'core.Taint',
  members: { Key: 'string', Value: 'string', Effect: 'string', TimeAdded: 'time' },
}

const avoidPods: StructShape = {
  type: 'v1.AvoidPods',
  members: {
    preferAvoidPods: {
      items: {
        type: 'v1.PreferAvoidPodsEntry',
        members: {
          podSignature: {
            type: 'v1.PodSignature',
            members: {
              podController: {
                type: 'v1.OwnerReference',
                members: {
                  apiVersion: 'string',
                  kind: 'string',
                  name: 'string',
                  uid: 'string',
                  controller: 'bool',
                  blockOwnerDeletion: 'bool',
                },
              },
            },
          },
          evictionTime: 'time',
          reason: 'string',
          message: 'string',
        },
      },
    },
  },
}

/** Checks both annotations. `checkTaints` is the rule of the field. */
export function checkNodeAnnotations(object: Place, checkTaints: (list: Place) => void): void {
  const annotations = object.in('metadata', 'annotations')
  const taints = read(annotations.in(taintsKey).text, { items: taint })
  if (taints instanceof DecodeError) annotations.invalid(taints.message, taintsKey)
  else checkTaints(annotations.as(`metadata.annotations.${taintsKey}`, taints))
  const avoided = read(annotations.in(avoidKey).text, avoidPods)
  const { errors } = annotations
  if (avoided instanceof DecodeError) {
    const place = new Place(avoidKey, 'metadata.annotations.AvoidPods', errors)
    place.invalid(avoided.message)
    return
  }
  const list = new Place(avoided, '', errors).in('preferAvoidPods')
  for (const entry of list.as(`metadata.annotations.${avoidKey}`).items) {
    const controller = entry.in('podSignature', 'podController')
    const signature = entry.as(`${entry.path}.PodSignature`)
    if (!controller.isSet) signature.required()
    else if (!controller.in('controller').isTrue) {
      const flag = signature.as(`${signature.path}.PodController.Controller`, false)
      flag.invalid('must point to a controller')
    }
  }
}

/** The value with its members under the names that the type has; or why it is none. */
function read(text: string, shape: ListShape | StructShape): JsonValue | undefined | DecodeError {
  if (text === '') return undefined
  try {
    const { value } = jsonBody(Buffer.from(text))
    const reader = new Reader()
    const found = reader.read(value, shape, { struct: '', fields: '' })
    return reader.problem ?? found
  } catch (error) {
    if (error instanceof DecodeError) return error
    throw error
  }
}

interface At {
  readonly struct: string
  readonly fields: string
}

class Reader {
  /** The first value of a wrong type; the rest is still read. */
  problem: DecodeError | undefined

  read(value: JsonValue, shape: Shape, at: At): JsonValue | undefined {
    if (value === null) return undefined
    if (shape === 'time') return readTime(value, text => this.#fail(value, text, at))
    if (typeof shape === 'string') {
      const isRight = typeof value === (shape === 'string' ? 'string' : 'boolean')
      return isRight ? value : this.#fail(value, shape, at)
    }
    if ('items' in shape) {
      if (!Array.isArray(value)) return this.#fail(value, `[]${shape.items.type}`, at)
      return value.map(item => this.read(item, shape.items, at) ?? new Map())
    }
    if (!(value instanceof Map)) return this.#fail(value, shape.type, at)
    return this.#struct(value, shape, at)
  }

  #struct(value: JsonObject, { type, members }: StructShape, { fields }: At): JsonObject {
    const read: JsonObject = new Map()
    const names = Object.keys(members)
    for (const [given, member] of value) {
      const name =
        names.find(one => one === given) ??
        names.find(one => one.toLowerCase() === given.toLowerCase())
      const shape = name === undefined ? undefined : members[name]
      if (name === undefined || shape === undefined) continue
      const path = fields === '' ? name : `${fields}.${name}`
      const struct = type.slice(type.indexOf('.') + 1)
      const found = this.read(member, shape, { struct, fields: path })
      if (found !== undefined) {
        read.set(
          name.replace(/^[A-Z]/, c => c.toLowerCase()),
          found,
        )
      }
    }
    return read
  }

  #fail(value: JsonValue, type: string, { struct, fields }: At): undefined {
    const where = struct === '' ? 'Go value' : `Go struct field ${struct}.${fields}`
    this.problem ??= new DecodeError(
      `json: cannot unmarshal ${kindOf(value)} into ${where} of type ${type}`,
    )
    return undefined
  }
}

/** Times have a decoder of their own, whose refusals end everything. */
function readTime(value: JsonValue, fail: (type: string) => undefined): JsonValue | undefined {
  if (typeof value !== 'string') return fail('string')
  if (momentFromText(value) === undefined) throw new DecodeError(timeProblem(value, false))
  return value
}

function kindOf(value: JsonValue): string {
  if (value instanceof Map) return 'object'
  if (Array.isArray(value)) return 'array'
  if (value instanceof JsonNumber) return 'number'
  return typeof value === 'string' ? 'string' : 'bool'
}

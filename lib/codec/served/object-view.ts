/** The served form of any stored object: decides by the stored bytes and the served kind which way
 *  leads there. Whatever is in the way is `NotExact` with a reason, so that the layer above can
 *  pass the request on. */

import { type ByteWriter, NotExact } from '@watchglass/base'
import { convertStored, needsConversion } from './convert.ts'
import type { CustomKind } from './custom/custom.ts'
import type { LearnedObjects } from '../output-kind.ts'
import { isNormalised, normaliseStored } from './stored/normalise.ts'
import { hasEnvelope } from '../transcode/envelope.ts'
import { appendDeclared } from '../json/declared.ts'
import type { Schema } from '../schema/schema.ts'
import { appendProtobufView } from './protobuf.ts'
import { appendView } from './view.ts'
import { type StoredValue } from '../stored-value.ts'

/** The kind that a resource's objects are served as. */
export interface ViewedKind {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  /** `apps/v1`, or `v1` in the core group. */
  readonly apiVersion: string
  readonly kind: string
  /** Kind of custom resources, which reads them; undefined for built-in kinds and for those of
   *  aggregated servers. */
  readonly custom: CustomKind | undefined
  /** Objects of aggregated servers, as they were learnt. */
  readonly learned?: LearnedObjects | undefined
}

export interface ViewedObjectOptions {
  /** Becomes `metadata.resourceVersion`; digits. */
  readonly resourceVersion: string
  /** An item of a list: those of kinds that Go has a type for carry neither kind nor apiVersion. */
  readonly isItem: boolean
  /** The part that is used of it, where that is not all. */
  readonly part?: 'metadata' | undefined
}

/** A stored value in the form that has one for every output: protobuf of the served kind. Undefined
 *  for those that are served from JSON: custom resources, and objects of aggregated servers. The
 *  value may be valid until the next call only. */
export function servedProtobuf(
  value: StoredValue,
  kind: ViewedKind,
): StoredValue | NotExact | undefined {
  const format = formatOf(value)
  if (format instanceof NotExact) return format
  if (kind.learned !== undefined) {
    return format === 'json' ? undefined : new NotExact('an unknown kind is not JSON')
  }
  if (kind.custom !== undefined) {
    return format === 'json' ? undefined : new NotExact('a custom resource is not JSON')
  }
  if (format === 'json' && isNormalised(kind)) {
    const normal = normaliseStored(value, kind)
    return normal instanceof NotExact ? normal : servedProtobuf(normal, kind)
  }
  if (needsConversion(kind.apiVersion, kind.kind)) {
    const converted = convertStored(value, kind)
    if (!(converted instanceof NotExact) || format === 'json') return converted
    for (const withDefaults of [false, true]) {
      const normal = normaliseStored(value, kind, withDefaults)
      if (normal instanceof NotExact) break
      const again = convertStored(normal, kind)
      if (!(again instanceof NotExact)) return again
    }
    return converted
  }
  return format === 'json' ? undefined : value
}

/** Appends the JSON object that the API serves, without a newline behind it. When that cannot be
 *  done exactly, nothing is appended, and the reason is returned. */
export function appendObject(
  out: ByteWriter,
  value: StoredValue,
  kind: ViewedKind,
  options: ViewedObjectOptions,
): NotExact | undefined {
  const { custom, apiVersion } = kind
  const protobuf = servedProtobuf(value, kind)
  if (protobuf instanceof NotExact) return protobuf
  if (kind.learned !== undefined) return kind.learned.append(out, value, options)
  if (protobuf !== undefined) {
    const view = { ...options, apiVersion, schema: kind.schema }
    const problem = appendView(out, protobuf, view)
    return problem && withNormal(problem, protobuf, kind, normal => appendView(out, normal, view))
  }
  if (custom === undefined) return appendDeclared(out, value, { ...options, ...kind })
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  const { resourceVersion, part } = options
  return custom.append(out, value, { version, resourceVersion, part })
}

/** Appends the protobuf object that the API serves: in its envelope, or the bare message for an
 *  item of a list. Custom resources have none, and of aggregated servers' objects we do not know
 *  it. */
export function appendObjectProtobuf(
  out: ByteWriter,
  value: StoredValue,
  kind: ViewedKind,
  options: ViewedObjectOptions,
): NotExact | undefined {
  const protobuf = servedProtobuf(value, kind)
  if (protobuf instanceof NotExact) return protobuf
  if (protobuf === undefined) return new NotExact('JSON objects have no protobuf form')
  const view = { ...options, ...kind }
  const problem = appendProtobufView(out, protobuf, view)
  return (
    problem && withNormal(problem, protobuf, kind, normal => appendProtobufView(out, normal, view))
  )
}

/** Does it again with what the server would have stored, where that is not what is stored. */
function withNormal(
  problem: NotExact,
  stored: StoredValue,
  kind: ViewedKind,
  append: (normal: StoredValue) => NotExact | undefined,
): NotExact | undefined {
  for (const withDefaults of [false, true]) {
    const normal = normaliseStored(stored, kind, withDefaults)
    if (normal instanceof NotExact) return problem
    if (append(normal) === undefined) return undefined
  }
  return problem
}

/** The most bytes of a stored value that is shown. etcd takes 1.5 MiB unless it is told otherwise,
 *  and the text of a value, six times as long at most, must be one string. */
const valueMaxBytes = 16 * 1024 * 1024

/** The format of a stored value, by its first bytes. */
export function formatOf(value: StoredValue): 'protobuf' | 'json' | NotExact {
  const { bytes, start, end } = value
  if (end - start > valueMaxBytes) return tooLarge
  if (hasEnvelope(bytes, start, end)) return 'protobuf'
  const first = start < end ? bytes[start] : undefined
  if (first === 0x7b) return 'json'
  if (startsWith(value, 'k8s:enc:')) return new NotExact('value is encrypted')
  if (first === undefined) return new NotExact('value is empty')
  if (isCompressed(value)) return new NotExact('value is compressed')
  return new NotExact('value is neither protobuf nor JSON')
}

const tooLarge = new NotExact(`value has more than ${valueMaxBytes} bytes`)

/** gzip, zlib, zstd and snappy frames, and those of API servers that the mirror cannot read
 *  (lib/cache/mirror/plain-values.ts). */
function isCompressed(value: StoredValue): boolean {
  const { bytes, start, end } = value
  if (end - start < 4) return false
  if (startsWith(value, '\0k8s')) return true
  const first = bytes[start] as number
  const second = bytes[start + 1] as number
  return (
    (first === 0x1f && second === 0x8b) ||
    (first === 0x78 && ((first << 8) | second) % 31 === 0) ||
    (first === 0x28 && second === 0xb5) ||
    (first === 0xff && second === 0x06)
  )
}

function startsWith({ bytes, start, end }: StoredValue, text: string): boolean {
  if (end - start < text.length) return false
  for (let i = 0; i < text.length; i++) {
    if (bytes[start + i] !== text.charCodeAt(i)) return false
  }
  return true
}

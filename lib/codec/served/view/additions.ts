/** The additions of a view to the plain conversion, in the form that the compiler of decoders
 *  takes: the object's resourceVersion, defaults on read, checks for the defaults that a view does
 *  not apply, and the API server's own fixups. */

import { type MessageField, type Schema, perSchema } from '../../schema/schema.ts'
import type { Additions, Scope } from '../../transcode/decode/decoders.ts'
import { putSource } from '../../transcode/decode/source.ts'
import { writeQuantity } from '../../transcode/decode/specials.ts'
import { giveUp } from '@watchglass/base'
import { type DecodeState, type WriteValue } from '../../transcode/decode/state.ts'
import { isRounded, labelsRuleOf } from '../default-rules.ts'
import {
  type Window,
  isOtherFirst,
  isSame,
  isSetAt,
  isText,
  isZeroIntOrString,
  lacksKeys,
  windowOf,
} from './check-functions.ts'
import { checksOf } from './checks.ts'
import { dependsOnPlace, dependsOnRoot, prefixOf, presetsOf } from './presets.ts'
import { wouldChangeOf } from './would-change.ts'

/** The scope of the object itself; `root` is its apiVersion and kind as they are stored. */
export function objectScope(root: string): Scope {
  return { root, place: objectPlace, isMetadata: false, prefix: '' }
}

/** The scope of an object's metadata that is written alone. */
export const metadataScope: Scope = { root: '', place: '', isMetadata: true, prefix: '' }

export const viewAdditions: (schema: Schema) => Additions = perSchema(schema => ({
  scopeOf: (parent, field, scope) => {
    const isMetadata = scope.place === objectPlace && field.jsonName === 'metadata'
    const isRooted = isMetadata
      ? takesLabels(schema, scope.root)
      : reachesRooted(schema, field.type, scope.root)
    return {
      root: isRooted ? scope.root : '',
      place: dependsOnPlace(schema, field.type) ? field.jsonName : '',
      isMetadata,
      prefix: prefixOf(parent, field),
    }
  },
  checksOf: (type, scope) => checksOf(type, scope, scope.place === objectPlace),
  presetsOf,
  replacementOf: (field, scope, mapWriter) => {
    if (!scope.isMetadata) return undefined
    if (field.jsonName === 'resourceVersion') return resourceVersionSource
    if (field.jsonName !== 'labels' || !takesLabels(schema, scope.root)) return undefined
    return labelsSource(field, mapWriter())
  },
  mapValueWriterOf: (type, field) => (isRounded(field, type) ? writeRoundedQuantity : undefined),
  helpers: {
    isOtherFirst,
    isSame,
    isSetAt,
    isText,
    isZeroIntOrString,
    lacksKeys,
    findLabels,
    wouldChange: wouldChangeOf(schema),
    couldApply: (what: string): never => giveUp(`a default that we do not apply could: ${what}`),
  },
}))

const objectPlace = '(object)'

const resourceVersionSource = `if (O.resourceVersion !== '') {
    ${putSource(',"resourceVersion":"')} p = writeAscii(O, p, O.resourceVersion); b[p++] = 34;
  }`

/** Labels of the object, or else those that were found in its template, whose metadata is a message
 *  of the same type. */
function labelsSource(field: MessageField, mapWriter: string): string {
  const a = `a${field.number}`
  const room = 'if (p + N > O.bytes.length) O.reserve(p + N, p); b = O.bytes; v = O.view;'
  const write = (start: string, end: string): string =>
    `${putSource(`,"${field.jsonName}":`)} p = ${mapWriter}(O, ${start}, ${end}, p); ${room}`
  return `if (${a} !== -1) { ${write(a, `z${field.number}`)} }
    else if (O.labelsStart !== -1) { ${write('O.labelsStart', 'O.labelsEnd')} }`
}

/** In lists of resources the API server rounds up to thousandths. */
const writeRoundedQuantity: WriteValue = (out, start, end, position) => {
  const to = writeQuantity(out, start, end, position)
  const last = out.bytes[to - 2]
  const isExponent = last === 0x36 || last === 0x39
  const isNegative = isExponent && out.bytes[to - 3] === 0x2d
  if (last === 0x6e || last === 0x75 || isNegative || hasManyDecimals(out, position, to)) {
    giveUp('a quantity is smaller than a thousandth')
  }
  return to
}

/** A text that Go has kept may have a fraction of any length. */
function hasManyDecimals(out: DecodeState, start: number, end: number): boolean {
  const at = out.bytes.subarray(start, end).indexOf(0x2e)
  return at !== -1 && end - start - at > 5
}

/** Finds the labels that an object without labels takes: the writer of its metadata gets to see
 *  them only after they would have to be written. `path` leads from the object to the labels. */
function findLabels(out: DecodeState, start: number, end: number, path: readonly number[]): void {
  let message: Window | undefined = { start, end }
  for (let i = 0; i < path.length - 1 && message !== undefined; i++) {
    message = windowOf(out, message, path[i] as number)
  }
  if (message === undefined || windowOf(out, message, path.at(-1) as number) === undefined) return
  out.labelsStart = message.start
  out.labelsEnd = message.end
}

/** True if objects of the kind, as `batch/v1 Job`, take labels from elsewhere in them. */
function takesLabels(schema: Schema, root: string): boolean {
  const known = takingOf(schema)
  let takes = known.get(root)
  if (takes === undefined) {
    const [apiVersion = '', kind = ''] = root.split(' ')
    const type = schema.findKind(apiVersion, kind)?.type
    takes = type !== undefined && labelsRuleOf(type) !== undefined
    known.set(root, takes)
  }
  return takes
}

const takingOf = perSchema(() => new Map<string, boolean>())

const rootedOf = perSchema(() => new Map<string, boolean>())

/** True if something that is added inside messages of the type depends on this kind of object. */
function reachesRooted(schema: Schema, typeName: string, root: string): boolean {
  if (root === '' || !typeName.includes('.')) return false
  const rooted = rootedOf(schema)
  const key = `${root} ${typeName}`
  const known = rooted.get(key)
  if (known !== undefined) return known
  const isReached = [typeName, ...schema.containedTypes(typeName)].some(name =>
    dependsOnRoot(schema, name, root),
  )
  rooted.set(key, isReached)
  return isReached
}

/** Source that writes members and values which are no messages: scalars, and the specials of
 *  FORMAT.md, section 2. */

import type { MessageField } from '../../schema/schema.ts'
import { putSource } from './source.ts'

/** The source of a member: when it is set, when it is not, and both in the shortest form. */
export interface MemberSource {
  readonly isSet: string
  readonly present: string
  readonly absent: string
  readonly whole: string
}

/** The functions that write a whole value from its window. */
const valueWriters: Readonly<Record<string, string>> = {
  quantity: 'writeQuantity',
  time: 'writeTime',
  microtime: 'writeMicroTime',
  intorstring: 'writeIntOrString',
  fieldsv1: 'writeJson',
  json: 'writeJson',
  rawextension: 'writeRawExtension',
}

/** The values of specials that are not there and are no pointers. */
const zeroSpecials: Readonly<Record<string, string>> = { quantity: '"0"', intorstring: '0' }

/** Source that writes the value between two positions; `undefined` for messages and numbers. */
export function valueSource(type: string, start: string, end: string): string | undefined {
  if (type === 'string') return `b[p++] = 34; p = writeText(O, ${start}, ${end}, p); b[p++] = 34;`
  if (type === 'bytes') return `b[p++] = 34; p = writeBase64(O, ${start}, ${end}, p); b[p++] = 34;`
  const writer = valueWriters[type]
  return writer === undefined ? undefined : `p = ${writer}(O, ${start}, ${end}, p);`
}

/** A member with a special type, or `undefined`. Go omits none that is no pointer, but for zero
 *  times with `omitzero`. */
export function specialMember(field: MessageField): MemberSource | undefined {
  const writer = valueWriters[field.type]
  if (writer === undefined) return undefined
  const { number, type } = field
  const window = `O, a${number}, z${number}`
  const present = `${putSource(`,"${field.jsonName}":`)} p = ${writer}(${window}, p);`
  if (field.isOmittedWhenZero) {
    const isSet = `a${number} !== -1 && !isZeroTime(${window})`
    return { isSet, present, absent: '', whole: `if (${isSet}) { ${present} }` }
  }
  const isSet = `a${number} !== -1`
  const isOmitted = field.isPointer && field.isOmittedWhenEmpty
  const zero = field.isPointer ? 'null' : (zeroSpecials[type] ?? 'null')
  const absent = isOmitted ? '' : putSource(`,"${field.jsonName}":${zero}`)
  return { isSet, present, absent, whole: either(isSet, present, absent) }
}

/** A member with a scalar type, or `undefined`. */
export function scalarMember(field: MessageField): MemberSource | undefined {
  const key = `,"${field.jsonName}":`
  const a = `a${field.number}`
  switch (field.type) {
    case 'string':
      return textMember(field)
    case 'bytes':
      return bytesMember(field)
    case 'bool': {
      const isTrue = `isNonZero64(O, ${a})`
      const isFalse = putSource(`${key}false`)
      return numberMember(field, isTrue, {
        present: putSource(`${key}true`),
        zero: isFalse,
        either: `if (${isTrue}) { ${putSource(`${key}true`)} } else { ${isFalse} }`,
      })
    }
    case 'int32':
    case 'int64': {
      const bits = field.type.slice(3)
      const present = `${putSource(key)} p = writeInt${bits}(O, ${a}, p);`
      return numberMember(field, `isNonZero${bits}(O, ${a})`, {
        present,
        zero: putSource(`${key}0`),
        either: present,
      })
    }
    case 'float64': {
      const present = `${putSource(key)} p = writeFloat64(O, ${a}, p);`
      return numberMember(field, `W.getFloat64(${a}, true) !== 0`, {
        present,
        zero: putSource(`${key}0`),
        either: present,
      })
    }
    default:
      return undefined
  }
}

/** Empty and absent texts are the same, but for pointers. */
function textMember(field: MessageField): MemberSource {
  const a = `a${field.number}`
  const z = `z${field.number}`
  const text = `p = writeText(O, ${a}, ${z}, p);`
  const present = `${putSource(`,"${field.jsonName}":"`)} ${text} b[p++] = 34;`
  if (field.isPointer) {
    const absent = field.isOmittedWhenEmpty ? '' : putSource(`,"${field.jsonName}":null`)
    return { isSet: `${a} !== -1`, present, absent, whole: either(`${a} !== -1`, present, absent) }
  }
  const isSet = `${z} !== ${a}`
  if (field.isOmittedWhenEmpty) {
    return { isSet, present, absent: '', whole: `if (${isSet}) { ${present} }` }
  }
  return { isSet, present, absent: putSource(`,"${field.jsonName}":""`), whole: present }
}

/** Absent bytes are `null`, present and empty ones are a text without characters. */
function bytesMember(field: MessageField): MemberSource {
  const a = `a${field.number}`
  const z = `z${field.number}`
  const present = `${putSource(`,"${field.jsonName}":"`)} p = writeBase64(O, ${a}, ${z}, p); b[p++] = 34;`
  const isSet = field.isOmittedWhenEmpty ? `${z} !== ${a}` : `${a} !== -1`
  const absent = field.isOmittedWhenEmpty ? '' : putSource(`,"${field.jsonName}":null`)
  return { isSet, present, absent, whole: either(isSet, present, absent) }
}

interface NumberSources {
  /** Writes the member when its value is not zero. */
  readonly present: string
  /** Writes it when it is absent or zero. */
  readonly zero: string
  /** Writes it when it is there, zero or not. */
  readonly either: string
}

function numberMember(
  field: MessageField,
  isNonZero: string,
  sources: NumberSources,
): MemberSource {
  const a = `a${field.number}`
  if (field.isPointer) {
    const absent = field.isOmittedWhenEmpty ? '' : putSource(`,"${field.jsonName}":null`)
    return {
      isSet: `${a} !== -1`,
      present: sources.either,
      absent,
      whole: either(`${a} !== -1`, sources.either, absent),
    }
  }
  const isSet = `${a} !== -1 && ${isNonZero}`
  const absent = field.isOmittedWhenEmpty ? '' : sources.zero
  return { isSet, present: sources.present, absent, whole: either(isSet, sources.present, absent) }
}

function either(condition: string, present: string, absent: string): string {
  return `if (${condition}) { ${present} }${absent === '' ? '' : ` else { ${absent} }`}`
}

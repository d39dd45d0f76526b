/** Makes the source of the function that writes one message type as JSON.
 *
 *  Fields come in any order and JSON has its own, so the function goes over the message twice:
 *  first it notes where each field's value is, which also checks everything at this level; then it
 *  writes members in the order of the schema. Nothing is allocated. Elements of lists and maps are
 *  found again the second time.
 *
 *  Every member is written with a comma before it; the first one's becomes the opening brace. */

import type { MessageField, MessageType } from '../../schema/schema.ts'
import { wireBytes } from '@watchglass/base'
import { type MemberSource, scalarMember, specialMember, valueSource } from './member-source.ts'
import { scanSource, variablesSource, wireOf } from './scan-source.ts'
import { lengthSource, putSource, roomSource, tagOf, tagTestSource } from './source.ts'
import { slackBytes } from './state.ts'

/** The services of the compiler for the generator, with the additions of a view to a type. */
export interface DecoderContext {
  /** The name, in the source, of an expression for the function that writes the field's message. */
  child(field: MessageField): string
  /** The name of the function that writes the field's map. */
  map(field: MessageField): string
  /** The name of the function that writes the field's list of numbers. */
  numbers(field: MessageField): string
  /** Source to run between the two passes. */
  readonly checks: string
  /** JSON values of a field that is zero: the first whose condition holds. */
  presetsOf(field: MessageField): readonly Preset[]
  /** Source that takes the place of a member. */
  replacementOf(field: MessageField): string | undefined
  /** Members in JSON that are not fields, before all others; of a type in `wrap` form, what it is
   *  without items. */
  readonly prefix: string
  /** Whether messages of the type can contain themselves. */
  readonly isRecursive: boolean
}

/** JSON for a field that is zero, where the condition, which is source, holds. */
export interface Preset {
  readonly condition: string
  readonly json: string
}

/** Whether a function writes a value, or members into the object around it. */
export type WriterOutput = 'value' | 'members'

/** The body of a function (O, s, e, p) that writes messages of the type. */
export function decoderSource(
  type: MessageType,
  output: WriterOutput,
  context: DecoderContext,
): string {
  const { fields } = type
  const constants = fields.reduce(
    (sum, field) => sum + field.jsonName.length + slackBytes + presetLength(field, context),
    slackBytes + context.prefix.length,
  )
  const isObject = type.form === 'object'
  return `
    const I = O.input, W = O.inputView, N = (e - s) * 6 + ${constants};
    let b, v, q = 0;
    ${variablesSource(type)}
    ${context.isRecursive ? 'if (++O.depth > maxDepth) tooDeep();' : ''}
    ${scanSource(type)}
    ${context.checks}
    ${roomSource}
    ${isObject ? 'q = p;' : ''}
    ${isObject && context.prefix !== '' ? putSource(context.prefix) : ''}
    ${isObject ? fields.map(field => memberSource(field, context)).join('\n') : formSource(type, context)}
    ${isObject && output === 'value' ? closeSource : ''}
    ${context.isRecursive ? 'O.depth--;' : ''}
    return p;`
}

/** Turns the first comma into the opening brace; an object without members has none. */
const closeSource = 'if (p === q) { b[p++] = 123; } else { b[q] = 123; } b[p++] = 125;'

function presetLength(field: MessageField, context: DecoderContext): number {
  return context.presetsOf(field).reduce((sum, { json }) => sum + json.length, 0)
}

function memberSource(field: MessageField, context: DecoderContext): string {
  const replacement = context.replacementOf(field)
  if (replacement !== undefined) return replacement
  if (field.isInline) return callSource(field, context)
  const source = presentSource(field, context)
  const presets = context.presetsOf(field)
  if (presets.length === 0) return source.whole
  const cases = presets.map(
    ({ condition, json }) =>
      `else if (${condition}) { ${putSource(`,"${field.jsonName}":${json}`)} }`,
  )
  return `if (${source.isSet}) { ${source.present} } ${cases.join(' ')} else { ${source.absent} }`
}

/** Source that writes the field's message by the function of its type. */
function callSource(field: MessageField, context: DecoderContext): string {
  return `p = ${context.child(field)}(O, a${field.number}, z${field.number}, p); ${roomSource}`
}

function presentSource(field: MessageField, context: DecoderContext): MemberSource {
  const key = `,"${field.jsonName}":`
  const a = `a${field.number}`
  const z = `z${field.number}`
  const isSet = `${a} !== -1`
  if (field.container === 'map') {
    return member(
      field,
      isSet,
      `${putSource(key)} p = ${context.map(field)}(O, ${a}, ${z}, p); ${roomSource}`,
      'null',
    )
  }
  if (field.container === 'list') {
    return member(
      field,
      isSet,
      `${putSource(`${key}[`)} ${listSource(field, context)} b[p++] = 93;`,
      'null',
    )
  }
  const special = specialMember(field) ?? scalarMember(field)
  if (special !== undefined) return special
  const present = `${putSource(key)} ${callSource(field, context)}`
  if (field.isPointer) return member(field, isSet, present, 'null')
  // The function itself writes the message without fields when the window is empty.
  return { isSet: 'true', present, absent: '', whole: present }
}

function member(field: MessageField, isSet: string, present: string, zero: string): MemberSource {
  const absent = field.isOmittedWhenEmpty ? '' : putSource(`,"${field.jsonName}":${zero}`)
  const otherwise = absent === '' ? '' : ` else { ${absent} }`
  return { isSet, present, absent, whole: `if (${isSet}) { ${present} }${otherwise}` }
}

/** Source that writes the elements, with commas between them. They are checked already, and nearly
 *  always one after the other; if not, the next is looked for. */
function listSource(field: MessageField, context: DecoderContext): string {
  const { number, type } = field
  const z = `z${number}`
  if (wireOf(type) !== wireBytes) return `p = ${context.numbers(field)}(O, a${number}, ${z}, p);`
  const tag = tagOf(number, wireBytes)
  const element =
    valueSource(type, 'i', 'i + n') ?? `p = ${context.child(field)}(O, i, i + n, p); ${roomSource}`
  return `
    i = a${number};
    for (;;) {
      i += ${tag < 0x80 ? 1 : 2}; ${lengthSource}
      k = i + n;
      ${element}
      i = k;
      if (i >= ${z}) break;
      b[p++] = 44;
      if (!${tagTestSource(tag)}) i = seekTag(O, i, e, ${tag});
    }`
}

/** Source that writes a message of which the JSON form is the value of one of its fields
 *  (FORMAT.md, section 2). */
function formSource(type: MessageType, context: DecoderContext): string {
  const list = type.fields.find(field => field.container === 'list')
  const elements =
    list === undefined ? '' : `b[p++] = 91; ${listSource(list, context)} b[p++] = 93;`
  if (type.form === 'wrap') {
    return `if (a1 === -1) { ${putSource(context.prefix)} } else { ${elements} }`
  }
  const schema = type.fields.find(field => field.jsonName === 'schema')
  if (schema === undefined) return `malformed(${JSON.stringify(type.name)});`
  const schemaValue = `if (a${schema.number} !== -1) { ${callSource(schema, context)} }`
  if (type.form === 'orbool') {
    return `${schemaValue} else if (a1 !== -1 && isNonZero64(O, a1)) { ${putSource('true')} } else { ${putSource('false')} }`
  }
  return `if (a2 !== -1) { ${elements} } else ${schemaValue} else { ${putSource('null')} }`
}

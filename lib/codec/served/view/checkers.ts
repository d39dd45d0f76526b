/** Compiles functions that go over a stored message and write nothing: they only find out whether
 *  the API server would change it on read. Protobuf is served as it is stored, so this is what
 *  makes it exact.
 *
 *  Most of a message is never looked at: only types are entered in which a default or a quantity
 *  can be. */

import { type MessageField, type MessageType, perSchema } from '../../schema/schema.ts'
import type { Additions, Scope } from '../../transcode/decode/decoders.ts'
import { scalarMember, specialMember } from '../../transcode/decode/member-source.ts'
import { isRecursive, runtime } from '../../transcode/decode/runtime.ts'
import { scanSource, variablesSource } from '../../transcode/decode/scan-source.ts'
import { lengthSource, tagOf, tagTestSource } from '../../transcode/decode/source.ts'
import { canonicalQuantity, isPlainQuantity } from '@watchglass/go'
import { giveUp, wireBytes } from '@watchglass/base'
import { type DecodeState } from '../../transcode/decode/state.ts'
import { isRounded } from '../default-rules.ts'
import { viewAdditions } from './additions.ts'
import { textOf, windowOf } from './check-functions.ts'

/** Gives up if the API server would change the message that lies in the window. */
export type CheckMessage = (out: DecodeState, start: number, end: number) => void

/** The function for a type, or `undefined` when nothing in it can be changed. `except` names
 *  fields, as `type.field`, whose defaults the caller applies. */
export function checkerOf(
  type: MessageType,
  scope: Scope,
  except: ReadonlySet<string>,
): CheckMessage | undefined {
  const checkers = new Checkers(viewAdditions(type.schema), except)
  return checkers.canChange(type, scope) ? checkers.compile(type, scope) : undefined
}

class Checkers {
  readonly #additions: Additions
  readonly #except: ReadonlySet<string>
  readonly #compiled = new Map<string, { run: CheckMessage | undefined }>()
  readonly #changeable = new Map<string, boolean>()

  constructor(additions: Additions, except: ReadonlySet<string>) {
    this.#additions = additions
    this.#except = except
  }

  /** True if something in messages of the type can be changed on read. */
  canChange(type: MessageType, scope: Scope): boolean {
    const key = keyOf(type, scope)
    const known = this.#changeable.get(key)
    if (known !== undefined) return known
    // While a type that contains itself is looked at, it adds nothing to itself.
    this.#changeable.set(key, false)
    const can =
      this.#additions.checksOf(type, scope) !== '' ||
      type.fields.some(
        field =>
          field.type === 'quantity' ||
          this.#presetsOf(type, field, scope).length > 0 ||
          this.#enters(type, field, scope),
      )
    this.#changeable.set(key, can)
    return can
  }

  compile(type: MessageType, scope: Scope): CheckMessage {
    const key = keyOf(type, scope)
    let entry = this.#compiled.get(key)
    if (entry === undefined) {
      entry = { run: undefined }
      this.#compiled.set(key, entry)
    }
    entry.run ??= this.#make(type, scope)
    return entry.run
  }

  #presetsOf(type: MessageType, field: MessageField, scope: Scope): readonly string[] {
    if (this.#except.has(`${type.name}.${field.jsonName}`)) return []
    return this.#additions.presetsOf(type, field, scope).map(({ condition }) => condition)
  }

  #enters(type: MessageType, field: MessageField, scope: Scope): boolean {
    return (
      field.type.includes('.') &&
      this.canChange(
        type.schema.messageType(field.type),
        this.#additions.scopeOf(type, field, scope),
      )
    )
  }

  #make(type: MessageType, scope: Scope): CheckMessage {
    const children: CheckMessage[] = []
    const childOf = (field: MessageField): string => {
      const childType = type.schema.messageType(field.type)
      const childScope = this.#additions.scopeOf(type, field, scope)
      // Compiled when it is first called, as types may contain themselves.
      let run: CheckMessage | undefined
      children.push((out, start, end) => {
        run ??= this.compile(childType, childScope)
        run(out, start, end)
      })
      return `C[${children.length - 1}]`
    }
    const functions = functionsOf(type.schema)
    const source = `
      const { ${[...Object.keys(runtime), ...Object.keys(functions)].join(', ')} } = helpers;
      return function (O, s, e) {
        const I = O.input, W = O.inputView;
        ${variablesSource(type)}
        ${isRecursive(type) ? 'if (++O.depth > maxDepth) tooDeep();' : ''}
        ${scanSource(type)}
        ${this.#additions.checksOf(type, scope)}
        ${type.fields.map(field => this.#fieldSource(type, field, { scope, childOf })).join('\n')}
        ${isRecursive(type) ? 'O.depth--;' : ''}
      };`
    // The source is made from our own schema; nothing of an object gets into it.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('helpers', 'C', source) as (
      helpers: object,
      children: readonly CheckMessage[],
    ) => CheckMessage
    return make({ ...runtime, ...functions }, children)
  }

  #fieldSource(
    type: MessageType,
    field: MessageField,
    {
      scope,
      childOf,
    }: { readonly scope: Scope; readonly childOf: (field: MessageField) => string },
  ): string {
    const presets = this.#presetsOf(type, field, scope)
    const what = JSON.stringify(`${type.name}.${field.jsonName}`)
    const preset =
      presets.length === 0
        ? ''
        : `if (!(${isSetSource(field)}) && (${presets.join(' || ')})) couldApply(${what});`
    if (field.type === 'quantity') {
      return `${preset} ${eachSource(field, isRounded(field, type) ? 'checkRounded' : 'checkQuantity')}`
    }
    return this.#enters(type, field, scope)
      ? `${preset} ${eachSource(field, childOf(field))}`
      : preset
  }
}

function keyOf(type: MessageType, { root, place, isMetadata }: Scope): string {
  return `${type.name} ${root} ${place} ${isMetadata}`
}

function isSetSource(field: MessageField): string {
  const isThere = `a${field.number} !== -1`
  if (field.container !== 'single') return isThere
  const known = specialMember(field) ?? scalarMember(field)
  return known?.isSet ?? (field.isPointer ? isThere : 'true')
}

/** Source that calls a function with the window of the field's message, or of each in a list or a
 *  map. A message that is no pointer is there even when it is not: its defaults apply. */
function eachSource(field: MessageField, call: string): string {
  const { number, container, isPointer } = field
  const [a, z] = [`a${number}`, `z${number}`]
  if (container === 'single') {
    return isPointer ? `if (${a} !== -1) ${call}(O, ${a}, ${z});` : `${call}(O, ${a}, ${z});`
  }
  const element = container === 'map' ? `checkEntry(O, i, k, ${call});` : `${call}(O, i, k);`
  const tag = tagOf(number, wireBytes)
  return `
    if (${a} !== -1) {
      i = ${a};
      while (i < ${z}) {
        if (!${tagTestSource(tag)}) i = seekTag(O, i, e, ${tag});
        i += ${tag < 0x80 ? 1 : 2}; ${lengthSource}
        k = i + n;
        ${element}
        i = k;
      }
    }`
}

/** The value of a map's entry. */
function checkEntry(out: DecodeState, start: number, end: number, check: CheckMessage): void {
  const value = windowOf(out, { start, end }, 2) ?? { start: -1, end: -1 }
  check(out, value.start, value.end)
}

/** A quantity that is written in another form than it is stored in. */
function checkQuantity(out: DecodeState, start: number, end: number): void {
  const window = windowOf(out, { start, end }, 1)
  if (window === undefined || isPlainQuantity(out.input, window.start, window.end)) return
  const text = textOf(out, window)
  if (canonicalQuantity(text) !== text) giveUp('a quantity is not in canonical form')
}

/** In lists of resources the API server rounds up to thousandths. */
function checkRounded(out: DecodeState, start: number, end: number): void {
  checkQuantity(out, start, end)
  const text = textOf(out, windowOf(out, { start, end }, 1))
  if (/(?:[nu]|e-[69])$/.test(text)) giveUp('a quantity is smaller than a thousandth')
}

const functionsOf = perSchema((schema): Readonly<Record<string, unknown>> => ({
  ...viewAdditions(schema).helpers,
  checkEntry,
  checkQuantity,
  checkRounded,
}))

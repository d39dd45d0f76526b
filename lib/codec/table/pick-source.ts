/** Reads what a Table needs from a stored protobuf message, and steps over the rest: plain objects
 *  come out, of the form that a pattern says (pattern.ts). That costs a fraction of a full decode.
 *
 *  The functions that do so are compiled. Made as source, each makes its object at once and in one
 *  form, and field numbers become a jump table: a third less time than one that interprets slots
 *  (bench/codec/outputs.ts). */

import type { PickMessage, PickedObject, CompiledPattern, Slot } from './pattern.ts'
import { NotExact } from '@watchglass/base'
import { readings } from './readings.ts'

/** Compiles the function for slots. An absent field has its value in `zero`. */
export function compilePick(zero: PickedObject, slots: CompiledPattern['slots']): PickMessage {
  const present = slots.filter(slot => slot !== undefined)
  const names = present.map(({ name }) => name)
  const source = `
    return function pick(b, s, e) {
      ${names.map((name, i) => `let v${i} = zero.${name};`).join('\n')}
      while (s < e) {
        let tag = b[s];
        if (tag < 128) s++; else { tag = R.varint(b, s, e); s = R.at; }
        switch (tag) {
          ${slots.map((slot, number) => (slot === undefined ? '' : fieldSource(slot, number, names.indexOf(slot.name)))).join('\n')}
          default: s = R.skip(b, tag, s, e);
        }
      }
      if (s !== e) R.fail();
      return { ${names.map((name, i) => `${name}: v${i}`).join(', ')} };
    }`
  // The source is made from our own patterns; nothing of an object gets into it.
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function('R', 'zero', 'picks', 'fallbacks', source) as (
    readers: typeof readings,
    zeroObject: PickedObject,
    picks: readonly (PickMessage | undefined)[],
    fallbacks: readonly unknown[],
  ) => PickMessage
  return make(
    readings,
    zero,
    present.map(({ nested }) => nested?.pick),
    present.map(({ fallback }) => fallback),
  )
}

/** The case of a field's tag: reads its value into variable `v` of number `i`. */
function fieldSource(slot: Slot, number: number, i: number): string {
  const v = `v${i}`
  const { mark } = slot
  const isFilledIn = slot.fallback !== undefined && !slot.isPointer
  const fill = isFilledIn
    ? `if (${v} === 0 || ${v} === false || ${v} === '') ${v} = fallbacks[${i}];`
    : ''
  if (mark === 'integer' || mark === 'long' || mark === 'flag') {
    return `case ${number * 8}: ${v} = ${numberSource[mark]}; s = R.at; ${fill} break;`
  }
  // A count of numbers is asked for nowhere; a pointer to one may be.
  const varint =
    mark === 'isSet' ? `case ${number * 8}: R.varint(b, s, e); s = R.at; ${v} = true; break;` : ''
  return `${varint}
    case ${number * 8 + 2}: {
      let z = s < e ? b[s] : 128;
      if (z < 128) s++; else { z = R.varint(b, s, e); s = R.at; }
      z += s;
      if (z > e) { s = R.fail(); break; }
      ${windowSource(slot, v, i)}
      s = z;
      ${fill}
      break;
    }`
}

const numberSource = {
  integer: 'R.integer(b, s, e) | 0',
  long: 'R.long(b, s, e)',
  flag: 'R.varint(b, s, e) !== 0',
}

/** Reads the value between `s` and `z`. */
function windowSource(slot: Slot, v: string, i: number): string {
  const append = (value: string): string =>
    // The list that stands there first is the shared one of an empty message.
    `if (${v} === zero.${slot.name}) ${v} = [${value}]; else ${v}.push(${value});`
  switch (slot.mark) {
    case 'text':
      return `${v} = ${slot.type === 'quantity' ? 'R.quantity' : 'R.text'}(b, s, z);`
    case 'message':
      return `${v} = picks[${i}](b, s, z);`
    case 'messages':
      return append(`picks[${i}](b, s, z)`)
    case 'texts':
      return append('R.text(b, s, z)')
    case 'names':
      return append('R.nameOf(b, s, z)')
    case 'time':
    case 'choice':
      return `${v} = R.${slot.mark}(b, s, z);`
    case 'pairs':
      return `${v} = R.pair(${v}, { bytes: b, start: s, end: z }, ${slot.type === 'quantity'});`
    case 'count':
      return `${v}++;`
    case 'size':
      return `${v} = z - s;`
    case 'isSet':
      return `${v} = true;`
    case 'integer':
    case 'long':
    case 'flag':
      return 'R.fail();'
  }
}

/** The fields of the message in `bytes[start..end)`. */
export function pickFromProtobuf(
  pattern: CompiledPattern,
  bytes: Uint8Array,
  start: number,
  end: number,
): PickedObject | NotExact {
  readings.isMalformed = false
  const picked = pattern.pick(bytes, start, end)
  return readings.isMalformed ? malformed : picked
}

const malformed = new NotExact('object is malformed')

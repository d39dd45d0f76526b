/** Lookups of a view's checks in stored messages, beside their own fields: called by compiled
 *  functions, on windows that those have checked on their own level only. Anything malformed
 *  further in is found when it is written. */

import { minors, schemaOf } from '../../schema/schema.ts'
import { giveUp, wireBytes, WireReader, wireVarint } from '@watchglass/base'
import { type DecodeState } from '../../transcode/decode/state.ts'

/** A window of the input; -1 where there is none. */
export interface Window {
  start: number
  end: number
}

/** The number of a field, once, when the checks are set up. A number never changes, so the newest
 *  schema will do. */
export function fieldNumberOf(typeName: string, jsonName: string): number {
  const type = schemaOf(minors().at(-1)).messageType(typeName)
  const field = type.fields.find(candidate => candidate.jsonName === jsonName)
  return field?.number ?? giveUp(`${typeName} has no field ${jsonName}`)
}

/** True if the bytes say exactly this ASCII text. */
export function isText(out: DecodeState, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) {
    if (out.input[start + i] !== text.charCodeAt(i)) return false
  }
  return true
}

/** True if two windows hold the same bytes. */
export function isSame(out: DecodeState, a: Window, b: Window): boolean {
  return a.end - a.start === b.end - b.start && hasSameBytes(out, a.start, b.start, a.end - a.start)
}

/** The windows of a length-delimited field, every occurrence. */
function windowsOf(out: DecodeState, message: Window, number: number): Window[] {
  const found: Window[] = []
  reader.reset(out.input, message.start, message.end)
  while (reader.nextField()) {
    const isWanted = reader.field === number && reader.wire === wireBytes
    if (reader.skip() && isWanted) found.push({ start: reader.start, end: reader.at })
  }
  return found
}

/** The last occurrence of a length-delimited field, if there is one. */
export function windowOf(out: DecodeState, message: Window, number: number): Window | undefined {
  let start = -1
  let end = -1
  reader.reset(out.input, message.start, message.end)
  while (reader.nextField()) {
    const isWanted = reader.field === number && reader.wire === wireBytes
    if (!reader.skip() || !isWanted) continue
    start = reader.start
    end = reader.at
  }
  return start === -1 ? undefined : { start, end }
}

/** The keys of a map field. */
function keysOf(out: DecodeState, message: Window, number: number): Window[] {
  return windowsOf(out, message, number).map(entry => windowOf(out, entry, 1) ?? nothing)
}

/** True if there is something at the end of a path of fields, which begins in a message of which
 *  the window is that of the outermost field: a number, or bytes that are not empty. */
export function isSetAt(
  out: DecodeState,
  start: number,
  end: number,
  numbers: readonly number[],
): boolean {
  let message: Window = { start, end }
  for (let i = 0; i < numbers.length - 1; i++) {
    const inner = windowOf(out, message, numbers[i] as number)
    if (inner === undefined) return false
    message = inner
  }
  return isSetIn(out, message, numbers.at(-1) as number)
}

function isSetIn(out: DecodeState, { start, end }: Window, number: number): boolean {
  reader.reset(out.input, start, end)
  while (reader.nextField()) {
    const isWanted = reader.field === number
    if (reader.skip() && isWanted && (reader.wire !== wireBytes || reader.at > reader.start)) {
      return true
    }
  }
  return false
}

/** True for an IntOrString {1 type, 2 number, 3 text} that is zero or empty. */
export function isZeroIntOrString(out: DecodeState, start: number, end: number): boolean {
  if (start === -1) return true
  let [type, number, length] = [0, 0, 0]
  reader.reset(out.input, start, end)
  while (reader.nextField()) {
    const { field, wire } = reader
    if (wire === wireVarint && field === 1) type = reader.readVarint()
    else if (wire === wireVarint && field === 2) number = reader.readVarint()
    else if (reader.skip() && field === 3) length = reader.at - reader.start
  }
  return type === 0 ? number === 0 : length === 0
}

/** True if the first item of a list, or the text in one of its fields, is another text than the
 *  one that says the same. `items` begins at the tag of the first. */
export function isOtherFirst(
  out: DecodeState,
  one: Window,
  items: Window,
  member: number,
): boolean {
  if (items.start === -1) return one.end > one.start
  first.reset(out.input, items.start, items.end)
  first.nextField()
  if (!first.readWindow()) return true
  const item = { start: first.start, end: first.at }
  const text = member === 0 ? item : windowOf(out, item, member)
  return text === undefined ? one.end > one.start : !isSame(out, one, text)
}

/** True if one map field of the message in a window has a key that another has not. */
// oxlint-disable-next-line max-params -- asked of every container; an object would be made for each
export function lacksKeys(
  out: DecodeState,
  start: number,
  end: number,
  from: number,
  to: number,
): boolean {
  return missesKey(out, { start, end }, { from, to })
}

/** Whether one map field of a message has a key that another has not. Asked of every container of
 *  every pod, so nothing is allocated. Go writes the entries of maps in the order of their keys, so
 *  that one pass finds them all; entries in another order are found by a set. */
export function missesKey(
  out: DecodeState,
  message: Window,
  fields: { readonly from: number; readonly to: number },
): boolean {
  let turns = 0
  inner.reset(out.input, message.start, message.end)
  outer.reset(out.input, message.start, message.end)
  while (outer.nextField()) {
    const isEntry = outer.field === fields.from && outer.wire === wireBytes
    if (!outer.skip() || !isEntry) continue
    const length = readKey(out, outer.start, outer.at)
    const start = key.at - length
    if (goesOnTo(out, fields.to, start, length)) continue
    if (++turns > turnsMax) return missesAny(out, message, fields)
    inner.reset(out.input, message.start, message.end)
    if (!goesOnTo(out, fields.to, start, length)) return true
  }
  return false
}

/** Takes the inner reader to the next entry of the field with a key; false if there is none before
 *  the end. */
function goesOnTo(out: DecodeState, field: number, start: number, length: number): boolean {
  while (inner.nextField()) {
    const isEntry = inner.field === field && inner.wire === wireBytes
    if (!inner.skip() || !isEntry || readKey(out, inner.start, inner.at) !== length) continue
    if (hasSameBytes(out, start, key.at - length, length)) return true
  }
  return false
}

/** The number of times that entries are looked for from the first one again, before it is taken for
 *  granted that they are in no order. */
const turnsMax = 8

function missesAny(
  out: DecodeState,
  message: Window,
  { from, to }: { readonly from: number; readonly to: number },
): boolean {
  const textsOf = (field: number): string[] =>
    keysOf(out, message, field).map(window => latin1(out, window))
  const known = new Set(textsOf(to))
  return textsOf(from).some(text => !known.has(text))
}

/** The bytes of a window as a text that is the same for the same bytes. */
function latin1({ input }: DecodeState, { start, end }: Window): string {
  return Buffer.from(input.buffer, input.byteOffset + start, end - start).toString('latin1')
}

/** ASCII text of a window, for names that are compared with others: what is longer than any such
 *  name is cut. */
export function textOf(out: DecodeState, window: Window | undefined): string {
  let text = ''
  if (window === undefined) return text
  for (let at = window.start; at < window.end && at < window.start + 500; at++) {
    text += String.fromCharCode(out.input[at] as number)
  }
  return text
}

/** Every function here is done with it before it returns. */
const reader = new WireReader()
const first = new WireReader()
const outer = new WireReader()
const inner = new WireReader()
const key = new WireReader()

/** The length of an entry's key, which ends at `key.at`. */
function readKey(out: DecodeState, start: number, end: number): number {
  let at = start
  let length = 0
  key.reset(out.input, start, end)
  while (key.nextField()) {
    const isKey = key.field === 1 && key.wire === wireBytes
    if (!key.skip() || !isKey) continue
    at = key.at
    length = key.at - key.start
  }
  key.at = at
  return length
}

function hasSameBytes(out: DecodeState, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) {
    if (out.input[a + i] !== out.input[b + i]) return false
  }
  return true
}

const nothing: Window = { start: 0, end: 0 }

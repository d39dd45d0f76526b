/** JSON patches (RFC 6902) as kube-apiserver applies them: with the liberties of the library
 *  that it uses. A `replace` of a member that is not there adds it, indexes may be negative, and
 *  a `copy` of a missing member is a null. Why a patch does not apply, the API does not say. */

import { isStepDue, noteEffort, type Steps } from '@watchglass/base'
import {
  goQuote,
  isTooDeep,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
  treeBytesPerEffort,
} from '@watchglass/go'
import { tooDeep, tooLarge } from '../refusals.ts'
import { sortedMembers } from '../sorted-members.ts'

/** An operation of a patch; its members may be of any kind. */
export type JsonPatchOperation = JsonObject

/** Bytes that all copies of a patch may have together, as kube-apiserver has it: a few dozen
 *  copies could double the document each. */
const copiedMaxBytes = 3 * 1024 * 1024
/** Items of lists that insertions and removals may move. Go moves them, too, but holds up nobody
 *  else with it. */
const movedMax = 50_000_000
/** Items that are moved in the time of a small thing. */
const movedPerEffort = 1_000

/** Thrown where a patch does not apply. */
export class PatchFailure extends Error {}

/** Thrown where a value is not the one that the patch asks for. */
export class TestFailure extends PatchFailure {}

/** The refusal of a path at which there is nothing, in the words of evanphx/json-patch. */
function missing(operation: string, what: string): PatchFailure {
  return new PatchFailure(`${operation} operation does not apply: ${what}: missing value`)
}

/** The document after the patch. Objects that the patch went into have their members sorted,
 *  others keep their order. Changes none of its arguments. */
export function* applyJsonPatch(
  document: JsonObject,
  patch: readonly JsonPatchOperation[],
): Steps<JsonValue> {
  const patcher = new JsonPatcher(document)
  for (const operation of patch) {
    if (isStepDue()) yield
    patcher.apply(operation)
  }
  yield
  return patcher.result()
}

type Container = JsonObject | JsonValue[]

/** A container, and the key of a value in it. */
type Found = readonly [container: Container, key: string]

/** The work; why it fails is told after these words. */
function within<T>(words: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error
    throw new PatchFailure(`${words}: ${error.message}`)
  }
}

class JsonPatcher {
  #root: Container
  /** Copies, which may be changed and are written sorted. */
  readonly #opened = new Set<JsonValue>()
  #copyableBytes = copiedMaxBytes
  #movable = movedMax

  constructor(document: JsonObject) {
    this.#root = this.#open(document)
  }

  apply(operation: JsonPatchOperation): void {
    switch (textMember(operation, 'op')) {
      case 'add':
        return this.#add(textMember(operation, 'path'), operation.get('value') ?? null)
      case 'remove':
        this.#remove(textMember(operation, 'path'))
        return
      case 'replace':
        return this.#replace(textMember(operation, 'path'), operation.get('value'))
      case 'move':
        return this.#moveValue(textMember(operation, 'from'), textMember(operation, 'path'))
      case 'test':
        return this.#test(textMember(operation, 'path'), operation.get('value') ?? null)
      case 'copy':
        return this.#copy(textMember(operation, 'from'), textMember(operation, 'path'))
      default:
        throw new PatchFailure(`Unexpected kind: ${textMember(operation, 'op')}`)
    }
  }

  result(): JsonValue {
    if (isTooDeep(this.#root)) throw tooDeep()
    return this.#closed(this.#root)
  }

  #add(path: string, value: JsonValue): void {
    const found = this.#find(path)
    if (found === undefined) throw missing('add', `doc is missing path: "${path}"`)
    within(`error in add for path: '${path}'`, () => this.#addAt(found, value))
  }

  #addAt([container, key]: Found, value: JsonValue): void {
    if (container instanceof Map) {
      container.set(key, value)
    } else if (key === '-') {
      container.push(value)
    } else {
      if (!isNumber(key)) {
        throw new PatchFailure(`value was not a proper array index: '${key}': ${noNumber(key)}`)
      }
      const place = indexIn(key, container.length + 1)
      this.#move(container.length - place)
      container.splice(place, 0, value)
    }
  }

  #remove(path: string): void {
    const found = this.#find(path)
    if (found === undefined) throw missing('remove', `doc is missing path: "${path}"`)
    within(`error in remove for path: '${path}'`, () => this.#removeAt(found))
  }

  /** Removes the value at a place, and returns it. */
  #removeAt([container, key]: Found): JsonValue {
    if (container instanceof Map) {
      const value = container.get(key)
      if (value === undefined) {
        throw new PatchFailure(`Unable to remove nonexistent key: ${key}: missing value`)
      }
      container.delete(key)
      return value
    }
    const place = indexIn(key, container.length)
    this.#move(container.length - place)
    return container.splice(place, 1)[0] ?? null
  }

  #moveValue(from: string, path: string): void {
    const found = this.#find(from)
    if (found === undefined) throw missing('move', `doc is missing from path: ${from}`)
    const value = within(`error in move for path: '${found[1]}'`, () => this.#removeAt(found))
    const target = this.#find(path)
    if (target === undefined) throw missing('move', `doc is missing destination path: ${path}`)
    within(`error in move for path: '${path}'`, () => this.#addAt(target, value))
  }

  #copy(from: string, path: string): void {
    if (this.#find(from) === undefined) throw missing('copy', `doc is missing from path: ${from}`)
    within(`error in copy for from: '${from}'`, () => this.#get(from))
    // The container of the destination is copied as it is at that moment.
    const target = this.#find(path)
    if (target === undefined) throw missing('copy', `doc is missing destination path: ${path}`)
    const value = this.#get(from) ?? null
    // Each copy can double the depth.
    if (isTooDeep(value)) throw tooDeep()
    const size = sizeOf(value, this.#copyableBytes)
    this.#copyableBytes -= size
    noteEffort(size / treeBytesPerEffort)
    if (this.#copyableBytes < 0) throw new PatchFailure('the copies are too large')
    within('error while adding value during copy', () => this.#addAt(target, this.#closed(value)))
  }

  #move(items: number): void {
    this.#movable -= items
    noteEffort(items / movedPerEffort)
    if (this.#movable < 0) throw tooLarge('the patch moves too many items of lists')
  }

  #replace(path: string, value: JsonValue | undefined): void {
    if (path === '') {
      if (!(value instanceof Map) && !Array.isArray(value)) {
        throw new PatchFailure('the document can only be replaced by an object or a list')
      }
      this.#root = this.#open(value)
      return
    }
    const found = this.#find(path)
    if (found === undefined) throw missing('replace', `doc is missing path: ${path}`)
    const [container, key] = found
    if (container instanceof Map) container.set(key, value ?? null)
    else {
      const place = placeIn(key, container.length)
      if (place === undefined) throw missing('replace', `doc is missing key: ${path}`)
      container[place] = value ?? null
    }
  }

  #test(path: string, value: JsonValue): void {
    if (path !== '' && this.#find(path) === undefined) {
      throw missing('test', `is missing path: ${path}`)
    }
    const found =
      path === ''
        ? this.#root
        : within(`error in test for path: '${path}'`, () => this.#get(path) ?? null)
    if (isTooDeep(found)) throw tooDeep()
    if (!isSame(found, value)) {
      throw new TestFailure(`testing value ${path} failed: test failed`)
    }
    // What has been compared is written sorted, too.
    if (path === '') this.#root = this.#openAll(this.#root) as Container
    else if (found !== null) this.#replace(path, this.#openAll(found))
  }

  #get(path: string): JsonValue | undefined {
    const [container, key] = this.#find(path) ?? [new Map(), '']
    if (container instanceof Map) return container.get(key)
    return container[indexIn(key, container.length)]
  }

  /** The container of what the path names, and its key there; undefined if there is no such
   *  container. */
  #find(path: string): Found | undefined {
    const parts = path.split('/').slice(1).map(unescaped)
    const key = parts.pop()
    if (key === undefined) return undefined
    let container = this.#root
    for (const part of parts) {
      const place = container instanceof Map ? part : placeIn(part, container.length)
      if (place === undefined) return undefined
      const next = container instanceof Map ? container.get(part) : container[place as number]
      if (!(next instanceof Map) && !Array.isArray(next)) return undefined
      const opened = this.#open(next)
      if (container instanceof Map) container.set(part, opened)
      else container[place as number] = opened
      container = opened
    }
    return [container, key]
  }

  #open(container: Container): Container {
    if (this.#opened.has(container)) return container
    const copy = container instanceof Map ? new Map(container) : [...container]
    this.#opened.add(copy)
    return copy
  }

  #openAll(value: JsonValue): JsonValue {
    if (!(value instanceof Map) && !Array.isArray(value)) return value
    const opened = this.#open(value)
    if (Array.isArray(opened)) {
      for (const [i, item] of opened.entries()) opened[i] = this.#openAll(item)
    } else {
      for (const [name, member] of opened) opened.set(name, this.#openAll(member))
    }
    return opened
  }

  /** A copy of the value, which later operations do not change. */
  #closed(value: JsonValue): JsonValue {
    if (!this.#opened.has(value)) return value
    if (Array.isArray(value)) return value.map(item => this.#closed(item))
    if (!(value instanceof Map)) return value
    return new Map(sortedMembers(value).map(([name, member]) => [name, this.#closed(member)]))
  }
}

/** About the length of a value's JSON; somewhat more than `most` where it is longer. What is
 *  shared counts each time. */
function sizeOf(value: JsonValue, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (value instanceof JsonNumber) return value.source.length
  if (!Array.isArray(value) && !(value instanceof Map)) return 4
  let size = 2
  for (const [name, member] of value.entries()) {
    size += (typeof name === 'string' ? name.length + 4 : 1) + sizeOf(member, most - size)
    if (size > most) break
  }
  return size
}

function textMember(operation: JsonPatchOperation, name: string): string {
  const value = memberOf(operation, name)
  if (typeof value === 'string') return value
  const op = memberOf(operation, 'op')
  const kind = typeof op === 'string' ? op : 'unknown'
  throw new PatchFailure(
    `${kind} operation failed to decode ${name}: operation, missing ${name} field: missing value`,
  )
}

function unescaped(part: string): string {
  return part.replace(/~[01]/g, escape => (escape === '~1' ? '/' : '~'))
}

function isNumber(key: string): boolean {
  return /^[+-]?[0-9]+$/.test(key)
}

function noNumber(key: string): string {
  return `strconv.Atoi: parsing ${goQuote(key)}: invalid syntax`
}

/** An index below the length; negative ones count from the end. */
function placeIn(key: string, length: number): number | undefined {
  const index = isNumber(key) ? Number(key) : Number.NaN
  const place = index < 0 ? index + length : index
  return place >= 0 && place < length ? place : undefined
}

function indexIn(key: string, length: number): number {
  if (!isNumber(key)) throw new PatchFailure(noNumber(key))
  const place = placeIn(key, length)
  if (place !== undefined) return place
  throw new PatchFailure(`Unable to access invalid index: ${Number(key)}: invalid index referenced`)
}

/** Numbers are the same only if they are written in the same way. */
function isSame(a: JsonValue, b: JsonValue): boolean {
  if (a instanceof JsonNumber) return b instanceof JsonNumber && a.source === b.source
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => isSame(item, b[i] as JsonValue))
    )
  }
  if (!(a instanceof Map)) return a === b
  if (!(b instanceof Map) || a.size !== b.size) return false
  return [...a].every(([name, member]) => {
    const other = b.get(name)
    return other !== undefined && isSame(member, other)
  })
}

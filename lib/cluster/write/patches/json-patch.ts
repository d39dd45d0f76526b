/** JSON patches (RFC 6902) as kube-apiserver applies them: with the liberties of the library
 *  that it uses. A `replace` of a member that is not there adds it, indexes may be negative, and
 *  a `copy` of a missing member is a null. Why a patch does not apply, the API does not say. */

import {
  isTooDeep,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
} from '../../../codec/json/tree.ts'
import { tooDeep, tooLarge } from '../refusals.ts'
import { sortedMembers } from '../sorted-members.ts'

/** An operation of a patch; its members may be of any kind. */
export type Operation = JsonObject

/** Bytes that all copies of a patch may have together, as kube-apiserver has it: a few dozen
 *  copies could double the document each. */
const copiedMaxBytes = 3 * 1024 * 1024
/** Items of lists that insertions and removals may move. Go moves them, too, but holds up nobody
 *  else with it. */
const movedMax = 50_000_000

/** Thrown where a patch does not apply. */
export class PatchFailure extends Error {}

/** Thrown where a value is not the one that the patch asks for. */
export class TestFailure extends PatchFailure {}

/** There is nothing at a path: in the words of the library that kube-apiserver uses. */
function missing(path: string, operation: string): PatchFailure {
  return new PatchFailure(
    `${operation} operation does not apply: doc is missing path: "${path}": missing value`,
  )
}

/** The document after the patch. Objects that the patch went into have their members sorted,
 *  others keep their order. Changes none of its arguments. */
export function applyJsonPatch(document: JsonObject, patch: readonly Operation[]): JsonValue {
  const patcher = new JsonPatcher(document)
  for (const operation of patch) {
    patcher.apply(operation)
  }
  return patcher.result()
}

type Container = JsonObject | JsonValue[]

class JsonPatcher {
  #root: Container
  /** Copies, which may be changed and are written sorted. */
  readonly #opened = new Set<JsonValue>()
  #copyableBytes = copiedMaxBytes
  #movable = movedMax

  constructor(document: JsonObject) {
    this.#root = this.#open(document)
  }

  apply(operation: Operation): void {
    switch (textMember(operation, 'op')) {
      case 'add':
        return this.#add(textMember(operation, 'path'), operation.get('value') ?? null)
      case 'remove':
        this.#remove(textMember(operation, 'path'))
        return
      case 'replace':
        return this.#replace(textMember(operation, 'path'), operation.get('value'))
      case 'move': {
        const value = this.#remove(textMember(operation, 'from'))
        return this.#add(textMember(operation, 'path'), value)
      }
      case 'test':
        return this.#test(textMember(operation, 'path'), operation.get('value') ?? null)
      case 'copy': {
        const from = textMember(operation, 'from')
        const path = textMember(operation, 'path')
        this.#get(from)
        // The container of the destination is copied as it is at that moment.
        this.#find(path)
        const value = this.#get(from) ?? null
        // Each copy can double the depth.
        if (isTooDeep(value)) throw tooDeep()
        this.#copyableBytes -= sizeOf(value, this.#copyableBytes)
        if (this.#copyableBytes < 0) throw new PatchFailure('the copies are too large')
        return this.#add(path, this.#closed(value))
      }
      default:
        throw new PatchFailure('unexpected kind of operation')
    }
  }

  result(): JsonValue {
    if (isTooDeep(this.#root)) throw tooDeep()
    return this.#closed(this.#root)
  }

  #add(path: string, value: JsonValue): void {
    const [container, key] = this.#find(path)
    if (container instanceof Map) {
      container.set(key, value)
    } else if (key === '-') {
      container.push(value)
    } else {
      const place = indexIn(key, container.length + 1)
      this.#move(container.length - place)
      container.splice(place, 0, value)
    }
  }

  /** Removes the value at a path, and returns it. */
  #remove(path: string): JsonValue {
    const [container, key] = this.#find(path, 'remove')
    if (container instanceof Map) {
      const value = container.get(key)
      if (value === undefined) throw missing(path, 'remove')
      container.delete(key)
      return value
    }
    const place = indexIn(key, container.length)
    this.#move(container.length - place)
    return container.splice(place, 1)[0] ?? null
  }

  #move(items: number): void {
    this.#movable -= items
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
    const [container, key] = this.#find(path)
    if (container instanceof Map) container.set(key, value ?? null)
    else container[indexIn(key, container.length)] = value ?? null
  }

  #test(path: string, value: JsonValue): void {
    const found = path === '' ? this.#root : (this.#get(path) ?? null)
    if (isTooDeep(found)) throw tooDeep()
    if (!isSame(found, value)) {
      throw new TestFailure(`testing value ${path} failed: test failed`)
    }
    // What has been compared is written sorted, too.
    if (path === '') this.#root = this.#openAll(this.#root) as Container
    else if (found !== null) this.#replace(path, this.#openAll(found))
  }

  #get(path: string): JsonValue | undefined {
    const [container, key] = this.#find(path)
    if (container instanceof Map) return container.get(key)
    return container[indexIn(key, container.length)]
  }

  /** The container of what the path names, and its key there. */
  #find(path: string, what = 'add'): [container: Container, key: string] {
    const parts = path.split('/').slice(1).map(unescaped)
    const key = parts.pop()
    if (key === undefined) throw missing(path, what)
    let container = this.#root
    for (const part of parts) {
      const place = container instanceof Map ? part : indexIn(part, container.length)
      const next = container instanceof Map ? container.get(part) : container[place as number]
      if (!(next instanceof Map) && !Array.isArray(next)) {
        throw missing(path, what)
      }
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

function textMember(operation: Operation, name: string): string {
  const value = memberOf(operation, name)
  if (typeof value !== 'string') throw new PatchFailure(`operation without ${name}`)
  return value
}

function unescaped(part: string): string {
  return part.replace(/~[01]/g, escape => (escape === '~1' ? '/' : '~'))
}

/** An index below the length; negative ones count from the end. */
function indexIn(key: string, length: number): number {
  if (!/^[+-]?[0-9]+$/.test(key)) throw new PatchFailure(`no index: ${key}`)
  const index = Number(key)
  const place = index < 0 ? index + length : index
  if (place < 0 || place >= length) throw new PatchFailure(`index out of range: ${key}`)
  return place
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

/** Traces of SimKube, version 2: a map in MessagePack with the objects that were applied and
 *  deleted, by the second. Its first event is what there was; namespaces are not in a trace, and
 *  are made as they are needed. How long pods ran is in a trace, too, and is passed over. */

import { isObject, memberAt, textOf, type UntypedObject } from '@watchglass/base'
import type { ObjectHistory, HistoryStep } from './object-history.ts'
import { namespaceObject } from './namespace-object.ts'
import { type Packed, PackedMap, PackProblem, unpack } from './msgpack.ts'

const version = 2

interface TraceEvent {
  readonly timeMs: number
  readonly applied: readonly UntypedObject[]
  readonly deleted: readonly UntypedObject[]
}

/** A trace is a map that fits into one byte of its head. */
export function isTrace(start: Uint8Array): boolean {
  return ((start[0] ?? 0) & 0xf0) === 0x80
}

/** Throws `PackProblem` if it is no trace. */
export function* traceHistory(bytes: Uint8Array, history: ObjectHistory): Generator<HistoryStep> {
  const events = eventsOf(unpack(bytes))
  const [first, ...rest] = events
  if (first === undefined) return
  const namespaces = new Set<string>()
  const isBase = first.deleted.length === 0
  if (isBase) {
    for (const object of first.applied) {
      for (const one of [...namespacesFor(object, namespaces), object]) put(history, one, first)
    }
    const base = history.base()
    if (base !== undefined) yield base
  }
  for (const event of isBase ? rest : events) {
    for (const object of event.applied) {
      for (const one of [...namespacesFor(object, namespaces), object]) {
        const change = put(history, one, event)
        if (change !== undefined) yield history.step(change, event.timeMs)
      }
    }
    for (const object of event.deleted) {
      const place = history.placeOf(object)
      const change = place && history.delete(place)
      if (change !== undefined) yield history.step(change, event.timeMs)
    }
  }
}

function put(
  history: ObjectHistory,
  object: UntypedObject,
  { timeMs }: TraceEvent,
): ReturnType<ObjectHistory['put']> {
  const place = history.placeOf(object)
  return place && history.put(place, object, timeMs)
}

/** The namespace of an object, if nobody has needed it yet. */
function namespacesFor(object: UntypedObject, known: Set<string>): UntypedObject[] {
  const name = textOf(memberAt(object, ['metadata', 'namespace']))
  if (name === '' || known.has(name)) return []
  known.add(name)
  return [namespaceObject(name)]
}

function eventsOf(trace: Packed): TraceEvent[] {
  if (!(trace instanceof PackedMap)) throw new PackProblem('it is no map')
  const found = trace.get('version')
  if (found !== version) {
    const said = typeof found === 'number' ? `of version ${String(found)}` : 'without a version'
    throw new PackProblem(`a trace ${said} is not read, only version ${String(version)}`)
  }
  const events = trace.get('events')
  if (!Array.isArray(events)) throw new PackProblem('it has no list of events')
  return (events as readonly Packed[]).map(eventOf)
}

function eventOf(event: Packed, i: number): TraceEvent {
  if (!(event instanceof PackedMap)) throw new PackProblem(`event ${String(i)} is no map`)
  const seconds = event.get('ts')
  if (typeof seconds !== 'number') throw new PackProblem(`event ${String(i)} has no time`)
  const objects = (name: string): UntypedObject[] => {
    const list = event.get(name)
    if (!Array.isArray(list)) throw new PackProblem(`event ${String(i)} has no list ${name}`)
    return (list as readonly Packed[]).map(one => {
      const object = plainOf(one)
      if (isObject(object)) return object
      throw new PackProblem(`event ${String(i)} has something in ${name} that is no object`)
    })
  }
  return {
    timeMs: seconds * 1000,
    applied: objects('applied_objs'),
    deleted: objects('deleted_objs'),
  }
}

/** As JSON would have it. */
function plainOf(value: Packed): unknown {
  if (Array.isArray(value)) return (value as readonly Packed[]).map(plainOf)
  if (value instanceof PackedMap) {
    const members = value.entries.map(([key, member]) => {
      if (typeof key !== 'string') throw new PackProblem('an object has a name that is no text')
      return [key, plainOf(member)] as const
    })
    return Object.fromEntries(members) as unknown
  }
  const isOdd =
    typeof value === 'bigint' ||
    value instanceof Uint8Array ||
    (typeof value === 'number' && !Number.isFinite(value))
  if (isOdd) throw new PackProblem('an object has a value that JSON cannot have')
  return value
}

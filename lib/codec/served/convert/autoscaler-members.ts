/** Makers of objects for both conversions of a HorizontalPodAutoscaler: autoscalers.ts and
 *  upgrade-autoscaler.ts. */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'

export type AutoscalerMembers = Readonly<Record<string, JsonValue | undefined>>

/** A metric's type, and the one part of it that is there, converted. */
export function convertParts(
  metric: JsonValue,
  parts: Readonly<Record<string, (part: JsonValue) => AutoscalerMembers>>,
): JsonObject {
  const converted: Record<string, JsonValue | undefined> = { type: memberOf(metric, 'type') ?? '' }
  for (const [name, convert] of Object.entries(parts)) {
    const part = memberOf(metric, name) ?? null
    if (part !== null) converted[name] = objectOf(convert(part))
  }
  return objectOf(converted)
}

/** The members that are there. */
export function objectOf(members: AutoscalerMembers): JsonObject {
  const present = Object.entries(members).filter(([, value]) => !isAbsent(value))
  return new Map(present) as JsonObject
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return value instanceof Map ? value : new Map()
}

export function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null
}

/** Builders of the inputs of the pure Kubernetes layer. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { StatusError, type Status } from '../../../lib/kube/status.ts'
import { KeyValue } from '../../../lib/store/event.ts'

/** A stored JSON value, at a revision. */
export function jsonEntry(key: string, value: unknown, at = 1): KeyValue {
  const bytes = Buffer.from(JSON.stringify(value))
  const meta = {
    createRevision: revision(at),
    modRevision: revision(at),
    version: 1,
    lease: 0n,
  }
  return new KeyValue(keyFromText(key), { bytes, start: 0, end: bytes.length }, meta)
}

/** An object with labels, as an aggregated server stores it. */
export function labelled(
  key: Key | string,
  labels: Readonly<Record<string, string>>,
  at = 1,
): KeyValue {
  return jsonEntry(key, { metadata: { labels } }, at)
}

/** A built-in resource. */
export function builtIn(resource: string, group = '', version = 'v1'): Resource {
  const found = builtInResources(schemaOf()).find(
    row => row.resource === resource && row.group === group && row.version === version,
  )
  if (found === undefined) throw new Error(`no resource ${resource}`)
  return found
}

/** The Status that something is refused with. */
export function refusalOf(run: () => unknown): Status | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof StatusError) return error.status
    throw error instanceof CacheError ? new Error(`not a StatusError: ${error.message}`) : error
  }
}

/** Metadata in protobuf, by our own encoder: the recordings say whether it is right. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { listBody } from '../../../lib/codec/output/list-body.ts'
import type { ListMeta } from '../../../lib/codec/output/list-meta.ts'
import { joined, objectBody } from '../../../lib/codec/output/object-body.ts'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { aggregatedResource } from '../../../lib/proxy/aggregated/aggregated-resource.ts'
import { group } from './wardle-objects.ts'
import type { Target } from './wardle-target.ts'

const form: OutputForm = {
  encoding: 'protobuf',
  rendering: 'PartialObjectMetadata',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
  now: 0,
}

export function protobufMetadata(target: Target, entry: KeyValue): Uint8Array | undefined {
  const body = objectBody(encoderOf(target), entry, { form, isPretty: false })
  return body instanceof NotExact ? undefined : body
}

export function protobufMetadataList(
  target: Target,
  entries: readonly KeyValue[],
  meta: ListMeta,
): Uint8Array | undefined {
  const runs = [{ entries, from: 0, to: entries.length, leaf: undefined }]
  const list: OutputForm = { ...form, rendering: 'PartialObjectMetadataList' }
  const body = joined(listBody(encoderOf(target), { form: list, isPretty: false, meta, runs }))
  return body instanceof NotExact ? undefined : body
}

function encoderOf({ version, resource, kind, namespace }: Target): ObjectEncoder {
  const listed = {
    group,
    version,
    resource,
    kind,
    singular: '',
    shortNames: [],
    categories: [],
    isNamespaced: namespace !== '',
    verbs: [],
    storageVersionHash: undefined,
  }
  const location = { prefix: '', group, version: 'v1alpha1', kind }
  const schema = schemaOf()
  return new ObjectEncoder(
    { ...aggregatedResource(listed, location, undefined), schema },
    undefined,
  )
}

/** Readers of labels and fields as the service makes them, for the recorded definitions. */

import { createSelectableReader } from '../../../lib/codec/fields/selectable-reader.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { customKindOf } from '../../../lib/codec/served/custom/custom-definition.ts'
import type { CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import { type SelectableKind } from '../../../lib/codec/fields/selectable.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { MakeReader } from '../../../lib/kube/selectors/filter.ts'
import { type Resource, groupVersionText } from '../../../lib/kube/resources/resource.ts'
import { entryAt } from '../../golden/load.ts'

const customKinds = new Map<string, CustomKind>()

/** The reader of a recorded definition's objects, as it was at `definedAt`. */
export function recordedCustomKind(definition: string, definedAt: number): CustomKind {
  const key = `/registry/apiextensions.k8s.io/customresourcedefinitions/${definition}`
  const id = `${definition}@${definedAt}`
  let kind = customKinds.get(id)
  if (kind === undefined) {
    const made = customKindOf(entryAt(key, definedAt)!)
    if (made instanceof NotExact) throw new Error(made.reason)
    kind = made
    customKinds.set(id, kind)
  }
  return kind
}

export function selectableKind({ version, storage, custom }: Resource): SelectableKind {
  const { group, version: storedVersion, kind } = storage!
  return {
    schema: schemaOf(),
    version,
    stored: { apiVersion: groupVersionText(group, storedVersion), kind },
    custom:
      custom?.definition === undefined
        ? undefined
        : recordedCustomKind(custom.definition, custom.definedAt),
  }
}

export const recordedReader: MakeReader = (resource, fields, needsLabels) =>
  createSelectableReader(selectableKind(resource), fields, needsLabels)

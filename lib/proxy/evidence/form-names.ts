/** The forms, and their names in logs. */

import type { OutputForm } from '@watchglass/codec'
import type { Resource } from '@watchglass/kube'
import type { ComparedForm } from './form.ts'

/** The forms that are compared before a client has asked for them: those that controllers and
 *  people use most. */
export const firstForms: readonly ComparedForm[] = [
  { encoding: 'json', rendering: 'object', renderingVersion: 'v1', includeObject: 'Metadata' },
  { encoding: 'protobuf', rendering: 'object', renderingVersion: 'v1', includeObject: 'Metadata' },
  { encoding: 'json', rendering: 'Table', renderingVersion: 'v1', includeObject: 'Metadata' },
  {
    encoding: 'json',
    rendering: 'PartialObjectMetadataList',
    renderingVersion: 'v1',
    includeObject: 'Metadata',
  },
]

export function isMetadata({ rendering }: Pick<OutputForm, 'rendering'>): boolean {
  return rendering === 'PartialObjectMetadata' || rendering === 'PartialObjectMetadataList'
}

/** As it is compared: objects among the items of a list where there are lists. */
export function comparedForm(output: ComparedForm): ComparedForm {
  const { encoding, rendering, renderingVersion, includeObject, subresource } = output
  const metadata = subresource === undefined ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
  return {
    encoding,
    rendering: isMetadata(output) ? metadata : rendering,
    renderingVersion,
    includeObject,
    subresource,
  }
}

/** Such as `json Table v1 Metadata`. */
export function formName(output: ComparedForm): string {
  const { subresource, ...whole } = output
  if (subresource !== undefined) return `${subresource} ${formName(whole)}`
  const { encoding, rendering, renderingVersion, includeObject } = whole
  if (rendering === 'object') return encoding
  if (isMetadata(output)) return `${encoding} metadata ${renderingVersion}`
  return `${encoding} Table ${renderingVersion} ${includeObject}`
}

/** Whether a resource has a form that nobody has asked for yet. */
export function isComparedFirst({ custom, learned }: Resource, output: ComparedForm): boolean {
  if (output.encoding === 'protobuf') return custom === undefined && learned === undefined
  return output.rendering !== 'Table' || learned === undefined || learned.table !== undefined
}

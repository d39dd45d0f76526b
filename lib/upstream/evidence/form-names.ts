/** Which forms there are, and what they are called in logs. */

import type { Shown } from '../../codec/served/object-encoder.ts'
import type { ShownForm } from './form.ts'

/** The forms that are compared though nobody has asked for them yet: what controllers read, and what people do. */
export const firstForms: readonly ShownForm[] = [
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

export function isMetadata({ rendering }: Pick<Shown, 'rendering'>): boolean {
  return rendering === 'PartialObjectMetadata' || rendering === 'PartialObjectMetadataList'
}

/** Such as `json Table v1 Metadata`. */
export function formName(shown: ShownForm): string {
  const { encoding, rendering, renderingVersion, includeObject } = shown
  if (rendering === 'object') return encoding
  if (isMetadata(shown)) return `${encoding} metadata ${renderingVersion}`
  return `${encoding} Table ${renderingVersion} ${includeObject}`
}

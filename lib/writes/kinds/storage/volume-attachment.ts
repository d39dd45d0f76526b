/** VolumeAttachments: a volume that is attached to a node. */

import type { JsonValue } from '@watchglass/go'
import { byteLength, dnsSubdomain, inRange } from '../../validation/formats.ts'
import { checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkDriverName } from '../../validation/pods/volumes.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkVolumeSpec } from '../shared/volume-spec.ts'
import { mostBytes } from './shared/parameters.ts'

export const volumeAttachment: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  hasStatus: true,
  keepsMetadata: true,
  needsVersion: true,
  returnsDeleted: true,
  hasFreeUpdate: true,
  hasFreeStatusMetadata: true,
  validateCreate: checkAttachment,
  validateUpdate: checkAttachmentUpdate,
  subresources: {
    status: {
      validate: checkAttachmentUpdate,
    },
  },
})

function checkAttachment(object: Place): void {
  const spec = object.in('spec')
  const [attacher, source, node] = [spec.in('attacher'), spec.in('source'), spec.in('nodeName')]
  if (attacher.text === '') attacher.required()
  const [inline, volume] = [source.in('inlineVolumeSpec'), source.in('persistentVolumeName')]
  const words = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (inline.isSet && volume.isSet) source.forbidden(words)
  else if (inline.isSet) checkVolumeSpec(inline, { volumeName: '', isInline: true })
  else if (!volume.isSet) source.required(words)
  else if (volume.text === '') volume.required('must specify non empty persistentVolumeName')
  node.mustBe(dnsSubdomain)
  const metadata = object.in('status', 'attachmentMetadata')
  const bytes = metadata.entries.reduce(
    (sum, [key, { text }]) => sum + byteLength(key) + byteLength(text),
    0,
  )
  if (bytes > mostBytes) metadata.tooLong(mostBytes)
  for (const name of ['attachError', 'detachError']) {
    const error = object.in('status', name)
    if (byteLength(error.in('message').text) > 1024) error.in('message').tooLong(mostBytes)
    const code = error.in('errorCode')
    code.invalidFor(inRange(code.number, 0, 2147483647))
  }
  if (attacher.text !== '') checkDriverName(attacher)
  if (volume.isSet) volume.mustBe(dnsSubdomain)
}

function checkAttachmentUpdate(object: Place, old: Place): void {
  checkNewMeta(object, false)
  checkAttachment(object)
  const [spec, before] = [object.in('spec'), old.in('spec')]
  if (isSame(spec.value, before.value)) return
  const inline = spec.in('source', 'inlineVolumeSpec').value ?? null
  const source = new Map<string, JsonValue>([
    ['PersistentVolumeName', spec.in('source', 'persistentVolumeName').value ?? null],
    ['InlineVolumeSpec', inline],
  ])
  const shown = new Map<string, JsonValue>([
    ['Attacher', spec.in('attacher').text],
    ['Source', source],
    ['NodeName', spec.in('nodeName').text],
  ])
  spec.invalid('field is immutable', shown)
}

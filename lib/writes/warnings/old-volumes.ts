/** Volumes whose plugins were removed from Kubernetes. */

import type { Place } from '../validation/place.ts'

const words = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
} as const

/** A volume, or the spec of a PersistentVolume, that may be of these kinds. */
export function ofOldVolume(volume: Place, kinds: readonly (keyof typeof words)[]): string[] {
  return kinds
    .filter(kind => volume.in(kind).isSet)
    .map(kind => {
      const shown = kind === 'storageos' ? 'storageOS' : kind
      return `${volume.path}.${shown}: ${words[kind]}`
    })
}

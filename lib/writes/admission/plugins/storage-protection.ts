/** StorageObjectInUseProtection: claims and volumes stay until nobody uses them. */

import { finalizersOf, setMeta } from '../../metadata.ts'
import type { AdmissionPlugin } from '../plugin.ts'

const finalizers: ReadonlyMap<string, string> = new Map([
  ['/persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['/persistentvolumes', 'kubernetes.io/pv-protection'],
  ['storage.k8s.io/volumeattributesclasses', 'kubernetes.io/vac-protection'],
])

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  mutate({ session, operation, object }) {
    if (operation !== 'CREATE' || object === undefined || session.subresource !== '') {
      return undefined
    }
    const finalizer = finalizers.get(`${session.kind.group}/${session.kind.resource}`)
    if (finalizer === undefined) return undefined
    const known = finalizersOf(object)
    if (!known.includes(finalizer)) setMeta(object, 'finalizers', [...known, finalizer])
    return undefined
  },
}
